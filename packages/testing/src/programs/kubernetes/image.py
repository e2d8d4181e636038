"""
Makes container images from the packages that are installed on this Debian machine: image.py FILE. The images have
Python, git, a shell and the usual programs. One of them sleeps: Kubernetes starts it in every pod.
"""

import hashlib
import io
import json
import os
import re
import subprocess
import sys
import tarfile

WANTED = ["python3", "python3-venv", "git", "dash", "coreutils", "grep", "sed", "findutils", "util-linux"]
# Only programs of git that nobody calls here need it.
NOT_NEEDED = {"perl"}
LEFT_OUT = re.compile(r"^/usr/share/(doc|man|locale|info|lintian|bash-completion)/")


def depends(package):
    """Returns the packages that an installed package needs; None if it is not installed."""
    query = ["dpkg-query", "-W", "-f=${db:Status-Status}, ${Depends}, ${Pre-Depends}", package]
    listed = subprocess.run(query, capture_output=True, text=True, check=False)
    status, *names = [one.strip() for one in listed.stdout.split(",")]
    if listed.returncode != 0 or status != "installed":
        return None
    return [re.split(r"[\s(:|]", one)[0] for one in names if one]


def closure(names):
    found, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        needed = None if name in found or name in NOT_NEEDED else depends(name)
        if needed is not None:
            found.add(name)
            waiting += needed
    missing = set(names) - found
    if missing:
        sys.exit(f"not installed: {', '.join(sorted(missing))}")
    return found


def files(packages):
    """Returns paths in the image with the path here. Folders that are links here are links in the image, too."""
    listed = subprocess.run(["dpkg", "-L", *sorted(packages)], capture_output=True, text=True, check=True).stdout
    found = {}
    for path in filter(lambda line: line.startswith("/") and not LEFT_OUT.match(line), listed.split("\n")):
        real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if os.path.lexists(real):
            found[real.lstrip("/")] = real
    for name in ("bin", "sbin", "lib", "lib64"):
        found[name] = "/" + name
    found["etc/passwd"], found["etc/group"] = "/etc/passwd", "/etc/group"
    return found


def layer():
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, path in sorted(files(closure(WANTED)).items()):
            if name:
                tar.add(path, arcname=name, recursive=False)
        for name in ("proc", "sys", "dev", "tmp"):
            folder = tarfile.TarInfo(name)
            folder.type, folder.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(folder)
    return packed.getvalue()


def image(tar, tag, entrypoint, content):
    digest = hashlib.sha256(content).hexdigest()
    config = {
        "architecture": {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine],
        "os": "linux",
        "config": {"Entrypoint": entrypoint, "Env": ["PATH=/usr/bin:/bin"]},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]},
        "history": [{}],
    }
    written = json.dumps(config).encode()
    name = hashlib.sha256(written).hexdigest() + ".json"
    add(tar, name, written)
    return {"Config": name, "RepoTags": [tag], "Layers": [digest + "/layer.tar"]}


def add(tar, name, content):
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, io.BytesIO(content))


def main():
    content = layer()
    with tarfile.open(sys.argv[1], "w") as tar:
        add(tar, hashlib.sha256(content).hexdigest() + "/layer.tar", content)
        manifest = [
            image(tar, "local.test/pause:1", ["/usr/bin/sleep", "infinity"], content),
            image(tar, "local.test/python:1", None, content),
        ]
        add(tar, "manifest.json", json.dumps(manifest).encode())


main()
