"""Copies the files that requirements name to the folder where a virtualenv is built.

It runs inside the isolation, in the job's working folder, and runs no code of the job. Arguments: the requirements file, the
target folder, and optionally `own`. It prints a hash of the copied files, which becomes part of the virtualenv's key. It
prints `own` if `own` was given or if something may not be copied: then the virtualenv is for this job alone.
"""

import hashlib
import os
import re
import sys

text_name = ".millrace-requirements.txt"
archives = (".whl", ".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tlz", ".tar.lz", ".tar.lzma")
archive = re.compile(r"\.(whl|zip|tar|tgz|tbz|txz|tlz)\b", re.I)

# Characters that some parsers treat as line ends, and marks that change how the rest is decoded.
odd = re.compile("\r|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
# pip reads the whole file in the encoding that a comment of the first two lines declares.
coding = re.compile(r"#.*coding[:=](?!\s*utf-?8(?![-\w.]))")
comment = re.compile(r"(?:^|(?<=[ \t]))#.*$")

# A virtualenv is shared only if every line of its requirements has one of the forms below. Variables, a second option on a
# line, quotes and unknown URL schemes match none.
rest = r"[\w./:@%?&=#+~,!*()\[\]-]+"
web = rf"https?://{rest}"
remote = rf"(?:https?|(?:git|hg|svn|bzr)\+(?:https?|ssh)|git)://{rest}"
path = r"[\w.][\w./+-]*"
extras = r"(?: ?\[[\w ,.-]*\])?"
named = rf"(?:[A-Za-z0-9][\w.-]*{extras} ?@ ?)?"
marker = r"""(?: ?;[\w .,<>=!~*+()'"-]*)?"""


def form(pattern):
    return re.compile(pattern, re.A).fullmatch


is_flag = form(r"--(?:pre|prefer-binary|require-hashes|no-index)")
is_choice = form(r"--(?:no-binary|only-binary|trusted-host|use-feature)[ =][A-Za-z0-9:][\w.,:-]*")
is_index = form(rf"(?:-[if] ?|--(?:index-url|extra-index-url|find-links)[ =]){web}")
is_web_list = form(rf"(?:-[rc] ?|--(?:requirement|constraint)[ =]){web}")
# uv reads requirements files with other extensions in other formats.
is_list = form(rf"(?:-[rc] ?|--(?:requirement|constraint)[ =])({path}\.(?:txt|in)|\w[\w/-]*)")
is_remote = form(rf"{named}({remote}){marker}")
is_path = form(rf"{named}({path}){extras}{marker}")
is_name = form(rf"[A-Za-z0-9][\w .,<>=!~*+()\[\]-]*{marker}")
hashes = re.compile(r" --hash[ =]\w+:\w+(?= |$)")
# Harmless `subdirectory` parts. pip builds in the folder that the part names, even one outside the package.
subdirectory = re.compile(r"[#&]subdirectory=\w[\w-]*(?:[./]\w[\w-]*)*(?=&|$)")


class NotShared(Exception):
    pass


def inside(path, root):
    """Returns the real path of a plain file inside the working folder, or None."""
    real = os.path.realpath(path)
    return real if os.path.isfile(real) and real.startswith(root + os.sep) else None


def read_text(data):
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise NotShared from None
    if odd.search(text) or any(map(coding.match, text.split("\n")[:2])):
        raise NotShared
    return text


def read_lines(data):
    """Yields lines without comments. Raises NotShared if pip and uv would split them differently."""
    begun = ""
    for line in [*read_text(data).split("\n"), ""]:
        if line.endswith("\\"):
            # After a backslash, one of pip and uv continues a comment and the other ends it.
            if comment.search(begun + line):
                raise NotShared
            begun += line[:-1]
            continue
        whole = re.sub("[ \t]+", " ", comment.sub("", begun + line)).strip(" ")
        begun = ""
        if whole:
            yield whole


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
        """Copies a file. Returns its name, or None if it was copied before."""
        for folder in folders:
            asked = os.path.normpath(os.path.join(folder, name))
            if os.path.isabs(asked) or asked.startswith("..") or asked == text_name:
                raise NotShared
            real = inside(asked, self.root)
            if real is None and os.path.lexists(asked):
                raise NotShared
            if real is not None and asked in self.digests:
                return None
            if real is not None:
                self.place(asked, real)
                return asked
        # The file does not exist. It may exist for the next job, so the virtualenv must not be shared.
        raise NotShared

    def walk(self, data, folder):
        for line in read_lines(data):
            if line.startswith("-"):
                self.option(line, folder)
            else:
                self.requirement(hashes.sub("", line), folder)

    def option(self, line, folder):
        if is_flag(line) or is_choice(line) or is_index(line) or is_web_list(line):
            return
        match = is_list(line)
        if not match:
            raise NotShared
        taken = self.take(match.group(1), [folder])
        if taken is not None:
            with open(os.path.join(self.target, taken), "rb") as file:
                self.walk(file.read(), os.path.dirname(taken))

    def requirement(self, line, folder):
        if " -" in line:
            raise NotShared
        if match := is_remote(line):
            if "subdirectory" in subdirectory.sub("", match.group(1)):
                raise NotShared
        elif (match := is_path(line)) and match.group(1).lower().endswith(archives):
            self.take(match.group(1), ["", folder])
        elif archive.search(line) or not is_name(line):
            raise NotShared


def write_new(path, data):
    """Writes a new file. It first deletes an existing one, which may be a symbolic link from the repository."""
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "xb") as file:
        file.write(data)


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    stage = Stage(sys.argv[2])
    try:
        if "own" in sys.argv[3:]:
            raise NotShared
        stage.walk(data, "")
    except NotShared:
        write_new(text_name, data)
        print("own")
        return
    lines = [f"{digest} {name}\n" for name, digest in sorted(stage.digests.items())]
    print(hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest())


main()
