"""Copies the files that requirements name to where an environment is built: runs inside, in the working folder.

Arguments: the requirements, and the folder to copy to. Prints what tells these files apart from others of the same names,
or `own` where requirements name what cannot be copied: then the environment is for this job alone. No code of the job's
runs here.
"""

import hashlib
import os
import re
import shlex
import sys

text_name = ".millrace-requirements.txt"
archives = (".whl", ".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tlz", ".tar.lz", ".tar.lzma")
remote = re.compile(r"^(https?|(git|hg|svn|bzr)\+(https?|ssh)|git)://", re.I)
lists = ("-r", "--requirement", "-c", "--constraint")
indexes = ("-i", "--index-url", "--extra-index-url", "-f", "--find-links")
plain = ("--no-binary", "--only-binary", "--prefer-binary", "--require-hashes", "--pre", "--no-index", "--trusted-host", "--use-feature")


class NotShared(Exception):
    pass


def options(line):
    """Name and value of an option that stands alone on its line."""
    match = re.match(r"^(--[\w-]+|-\w)(?:\s*=\s*|\s+|(?<=^-\w))(.*)$", line + " ")
    return (match.group(1), match.group(2).strip()) if match else (line, "")


def inside(path, root):
    """Where a plain file in the working folder really lies, or nothing."""
    real = os.path.realpath(path)
    return real if os.path.isfile(real) and real.startswith(root + os.sep) else None


def local_path(line):
    """The path of a requirement that is one; an empty text: it is a name, or lies elsewhere."""
    words = re.split(r"\s+(?=--|#|;)", line, maxsplit=1)[0].strip()
    direct = re.match(r"^[\w.-]+\s*(?:\[[^\]]*\])?\s*@\s*(.+)$", words)
    target = (direct.group(1) if direct else words).strip()
    if remote.match(target):
        return ""
    bare = re.sub(r"\[[^\]]*\]$", "", target)
    if direct or ":" in bare or "/" in bare or bare.startswith(".") or bare.lower().endswith(archives):
        return bare
    return ""


def read_lines(data):
    text = data.decode("utf-8", "surrogateescape").replace("\\\r\n", "").replace("\\\n", "")
    for line in text.splitlines():
        line = re.sub(r"(^|\s)#.*$", "", line).strip()
        if line:
            yield line


class Stage:
    def __init__(self, target):
        self.root = os.path.realpath(".")
        self.target = target
        self.digests = {}

    def place(self, name, source):
        path = os.path.join(self.target, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        digest = hashlib.sha256()
        with open(source, "rb") as original, open(path, "wb") as copy:
            while data := original.read(1 << 20):
                copy.write(data)
                digest.update(data)
        self.digests[name] = digest.hexdigest()

    def take(self, name, folders):
        """Copies a file; returns its name where it is new. One that is not there is for the build to complain about."""
        for folder in folders:
            asked = os.path.normpath(os.path.join(folder, name))
            if os.path.isabs(name) or asked.startswith("..") or "$" in name:
                raise NotShared
            real = inside(asked, self.root)
            if real is None and os.path.lexists(asked):
                raise NotShared
            if real is not None and asked in self.digests:
                return None
            if real is not None:
                self.place(asked, real)
                return asked
        return None

    def walk(self, data, folder):
        for line in read_lines(data):
            if not line.startswith("-"):
                path = local_path(line)
                if path and (":" in path or not path.lower().endswith(archives)):
                    raise NotShared
                if path:
                    self.take(path, ["", folder])
                continue
            name, value = options(line)
            if name in lists and not remote.match(value):
                for word in shlex.split(value)[:1]:
                    taken = self.take(word, [folder])
                    if taken is not None:
                        with open(os.path.join(self.target, taken), "rb") as file:
                            self.walk(file.read(), os.path.dirname(taken))
            elif name in indexes and not remote.match(value):
                raise NotShared
            elif name not in lists + indexes + plain:
                raise NotShared


def write_new(path, data):
    """A repository may hold a link of that name."""
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "xb") as file:
        file.write(data)


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    stage = Stage(sys.argv[2])
    try:
        stage.walk(data, "")
    except NotShared:
        write_new(text_name, data)
        print("own")
        return
    lines = [f"{digest} {name}\n" for name, digest in sorted(stage.digests.items())]
    print(hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest())


main()
