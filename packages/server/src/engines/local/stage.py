"""Copies the files that requirements name to where an environment is built: runs inside, in the working folder.

Arguments: the requirements, the folder to copy to, and `own` where that is settled already. Prints what tells these files
apart from others of the same names, or `own` where requirements name what cannot be copied, or may: then the
environment is for this job alone. No code of the job's runs here.
"""

import hashlib
import os
import re
import sys

text_name = ".millrace-requirements.txt"
archives = (".whl", ".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tbz", ".tar.xz", ".txz", ".tlz", ".tar.lz", ".tar.lzma")
archive = re.compile(r"\.(whl|zip|tar|tgz|tbz|txz|tlz)\b", re.I)

# Ends of lines to some readers, and marks that change how the rest is read.
odd = re.compile("\r|[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
# pip reads the whole file in the encoding that a comment of the first two lines declares.
coding = re.compile(r"#.*coding[:=](?!\s*utf-?8(?![-\w.]))")
comment = re.compile(r"(?:^|(?<=[ \t]))#.*$")

# What is not one of these forms is not shared: a variable in it, a second option, a quote, a scheme we do not know.
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
# Other endings are other formats to uv.
is_list = form(rf"(?:-[rc] ?|--(?:requirement|constraint)[ =])({path}\.(?:txt|in)|\w[\w/-]*)")
is_remote = form(rf"{named}({remote}){marker}")
is_path = form(rf"{named}({path}){extras}{marker}")
is_name = form(rf"[A-Za-z0-9][\w .,<>=!~*+()\[\]-]*{marker}")
hashes = re.compile(r" --hash[ =]\w+:\w+(?= |$)")
# pip builds in the folder that this names, wherever it is.
subdirectory = re.compile(r"[#&]subdirectory=\w[\w-]*(?:[./]\w[\w-]*)*(?=&|$)")


class NotShared(Exception):
    pass


def inside(path, root):
    """Where a plain file in the working folder really lies, or nothing."""
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
    """Lines without comments, where pip and uv agree on what they are."""
    begun = ""
    for line in [*read_text(data).split("\n"), ""]:
        if line.endswith("\\"):
            # To one of them the comment goes on, to the other it ends here.
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
        """Copies a file; returns its name where it is new."""
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
        # It may come to be there later, and be something else to the next job.
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
