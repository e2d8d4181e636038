"""
Fetches a packed virtualenv from the server, or packs one that was just built and stores it there. A runner starts this
in a process of its own, so that it can be canceled. Arguments: `fetch` or `store`, and the path of a file with settings,
which holds secrets and is removed at once.

A pack is a gzipped tar archive: first a note about where it was built, then folders, files, and links within the
virtualenv. Packages may come from anywhere and a job can act in its runner's name, so a pack counts as hostile: nothing
is written outside of the virtualenv, and the numbers of bytes and files are bounded.

Exit code 0: done. 1: it failed; the reason was printed. 3: the server has no pack.
"""

import gzip
import http.client
import json
import os
import re
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib

DONE, FAILED, NONE = 0, 1, 3
# Seconds that one request may wait for the server, and after which no further one is tried.
PATIENCE = 60
TRIES = 5
PIECE = 256 * 1024
# The most that a pack may become: bytes, files and folders, bytes of a note, a path or a script.
MOST_BYTES = 64 * 1024**3
MOST_FILES = 1_000_000
MOST_NOTE = 1024 * 1024
MOST_PATH = 4096
MOST_SCRIPT = 1024 * 1024
# The kernel reads this much of the first line of a script.
MOST_FIRST_LINE = 127
NOTE = ".millrace-pack.json"
BLOCK = tarfile.BLOCKSIZE
# Errors of a connection, after which a request is repeated.
PASSING = (ConnectionError, socket.timeout, ssl.SSLError, http.client.HTTPException, urllib.error.URLError)


class Unfit(Exception):
    """The pack, or the virtualenv, is not what it should be."""


class Refused(Exception):
    """The server's own answer is no."""

    def __init__(self, status, text):
        super().__init__(f"{status} {text}")
        self.status = status


def hearing(kind):
    """
    Returns a class of connections that hear an answer which comes before the whole request was sent: the server may not
    want a pack, and does not read gigabytes to say so.
    """

    class Hearing(kind):
        def request(self, *given, **named):
            try:
                super().request(*given, **named)
            except (BrokenPipeError, ConnectionResetError):
                pass  # If there is no answer, reading it fails.

    return Hearing


class Http(urllib.request.HTTPHandler):
    def http_open(self, request):
        return self.do_open(hearing(http.client.HTTPConnection), request)


class Https(urllib.request.HTTPSHandler):
    def https_open(self, request):
        return self.do_open(hearing(http.client.HTTPSConnection), request, context=ssl.create_default_context())


class Server:
    def __init__(self, settings):
        self.opener = urllib.request.build_opener(Http, Https)
        query = {"key": settings["key"], "virtualenv": settings["environment"]}
        self.url = settings["url"].rstrip("/") + "/api/runner/pack?" + urllib.parse.urlencode(query)
        self.token, self.ticket = settings["token"], settings.get("ticket", "")

    def repeat(self, exchange):
        """Carries out a request, a few times while the server does not answer."""
        began, pause = time.monotonic(), 0.2
        for left in reversed(range(TRIES)):
            try:
                return exchange()
            except urllib.error.HTTPError as error:
                text = error.read(4096).decode("utf-8", "replace")
                if is_own(text) and error.code < 500 and error.code not in (408, 429):
                    raise Refused(error.code, text) from None
                problem = f"{error.code} {text}"
            except PASSING as error:
                problem = str(error)
            if left == 0 or time.monotonic() - began > PATIENCE:
                raise Unfit(f"the server does not answer: {problem}")
            time.sleep(pause)
            pause *= 2

    def open(self, body=None, query=""):
        request = urllib.request.Request(self.url + query, data=body, method="GET" if body is None else "POST")
        request.add_header("authorization", "Bearer " + self.token)
        request.add_header("content-type", "application/octet-stream")
        return self.opener.open(request, timeout=PATIENCE)

    def fetch(self, unpack):
        def exchange():
            with self.open() as answer:
                try:
                    unpack(answer)
                except EOFError:
                    if not answer.length:
                        raise
                    raise ConnectionError("the answer is cut") from None

        self.repeat(exchange)

    def store(self, pack):
        def exchange():
            # Without a length, so it is sent in chunks: what is cut is never taken for the whole.
            with self.open(pack(), "&" + urllib.parse.urlencode({"ticket": self.ticket})) as answer:
                answer.read()

        self.repeat(exchange)


def is_own(text):
    """Proxies answer as well while a server restarts, for example with 404; only the server's own word counts."""
    try:
        return "code" in json.loads(text)
    except (ValueError, TypeError):
        return False


class Packed:
    """Packs a virtualenv."""

    def __init__(self, venv, python):
        self.venv, self.python = venv, os.path.realpath(python)
        self.zip = zlib.compressobj(1, zlib.DEFLATED, 31)
        self.bytes = 0
        # Names of links to the interpreter, which is outside.
        self.pythons = []

    def pieces(self):
        """Yields the pack. It is compressed while it is sent, so it needs no space here."""
        entries = list(self.entries())
        note = json.dumps({"venv": self.venv, "pythons": self.pythons}).encode()
        yield from self.file(tarfile.TarInfo(NOTE), len(note), [note])
        for path, info in entries:
            if info.isreg():
                with open(path, "rb") as file:
                    yield from self.file(info, info.size, iter(lambda: file.read(PIECE), b""))
            else:
                yield self.packed(header(info))
        yield self.packed(b"\0" * 2 * BLOCK)
        yield self.zip.flush()

    def file(self, info, size, content):
        info.size = size
        yield self.packed(header(info))
        for piece in content:
            size -= len(piece)
            yield self.packed(piece)
        if size != 0:
            raise Unfit(f"{info.name} changed while it was packed")
        yield self.packed(b"\0" * (-info.size % BLOCK))

    def packed(self, some):
        self.bytes += len(some)
        if self.bytes > MOST_BYTES:
            raise Unfit("the virtualenv is too large")
        return self.zip.compress(some)

    def entries(self):
        """Yields the paths and the headers of everything in the virtualenv: folders before what they hold."""
        waiting, count = [""], 0
        while waiting:
            folder = waiting.pop()
            for name in sorted(os.listdir(os.path.join(self.venv, folder))):
                relative = os.path.join(folder, name)
                path = os.path.join(self.venv, relative)
                info = self.info(path, relative)
                count += 1
                if count > MOST_FILES:
                    raise Unfit("the virtualenv has too many files")
                if info is not None:
                    yield path, info
                    if info.isdir():
                        waiting.append(relative)

    def info(self, path, relative):
        found = os.lstat(path)
        info = tarfile.TarInfo(relative)
        info.mode, info.mtime = stat.S_IMODE(found.st_mode), int(found.st_mtime)
        if stat.S_ISLNK(found.st_mode):
            return self.link(info, path)
        if stat.S_ISDIR(found.st_mode):
            info.type = tarfile.DIRTYPE
        elif stat.S_ISREG(found.st_mode):
            info.size = found.st_size
        else:
            raise Unfit(f"{relative} is neither a file nor a folder")
        return info

    def link(self, info, path):
        target = os.readlink(path)
        within = os.path.relpath(os.path.join(os.path.dirname(path), target), self.venv)
        if not within.startswith(".."):
            info.type = tarfile.SYMTYPE
            info.linkname = os.path.relpath(os.path.join(self.venv, within), os.path.dirname(path))
            return info
        if os.path.realpath(path) != self.python:
            raise Unfit(f"{info.name} is a link to {target}, outside of the virtualenv")
        self.pythons.append(info.name)
        return None


def header(info):
    return info.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")


class Unpacked:
    """
    Unpacks a virtualenv. Links are made last, so that nothing is written through one, and only if they lead to something
    in the virtualenv or to the interpreter.
    """

    def __init__(self, venv, python):
        self.venv, self.python = venv, os.path.realpath(python)
        self.read_bytes = self.count = 0
        self.links = []
        self.folders = {""}

    def unpack(self, answer):
        os.mkdir(self.venv, 0o755)
        with gzip.GzipFile(fileobj=answer) as self.source:
            note = self.note(self.next())
            for info in iter(self.next, None):
                self.place(info)
            # Up to the checksum, which is at the very end.
            while self.source.read(PIECE):
                self.count_bytes(PIECE)
        self.settle(note["venv"])
        self.make_links(note["pythons"])

    def note(self, info):
        if info is None or info.name != NOTE or not info.isreg() or info.size > MOST_NOTE:
            raise Unfit("it does not begin with its note")
        note = json.loads(b"".join(self.content(info.size)))
        names = note["pythons"]
        if not os.path.isabs(note["venv"]) or not isinstance(names, list) or len(names) > 10:
            raise Unfit("its note is not valid")
        return note

    def count_bytes(self, more):
        self.read_bytes += more
        if self.read_bytes > MOST_BYTES:
            raise Unfit("it has too many bytes")

    def read(self, size):
        self.count_bytes(size)
        found = self.source.read(size)
        if len(found) != size:
            raise EOFError("the pack is cut")
        return found

    def content(self, size):
        """Yields the bytes of a file."""
        left = size
        while left > 0:
            piece = self.read(min(left, PIECE))
            left -= len(piece)
            yield piece
        self.read(-size % BLOCK)

    def next(self):
        """Returns the header of the next file; None at the end. Long paths have headers of their own."""
        long = {}
        while True:
            block = self.read(BLOCK)
            if not any(block):
                return None
            info = tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
            field = {tarfile.GNUTYPE_LONGNAME: "name", tarfile.GNUTYPE_LONGLINK: "linkname"}.get(info.type)
            if field is None:
                break
            if info.size > MOST_PATH:
                raise Unfit("a path is too long")
            long[field] = b"".join(self.content(info.size)).rstrip(b"\0").decode("utf-8", "surrogateescape")
        for field, value in long.items():
            setattr(info, field, value.rstrip("/") if info.isdir() else value)
        if info.size < 0:
            raise Unfit(f"{info.name} has no size")
        return info

    def place(self, info):
        """Makes what a header describes."""
        name = checked(info.name)
        self.count += 1
        if self.count > MOST_FILES:
            raise Unfit("it has too many files")
        if os.path.dirname(name) not in self.folders:
            raise Unfit(f"{name} is in no folder")
        path = os.path.join(self.venv, name)
        if info.isdir():
            os.mkdir(path, 0o755)
            self.folders.add(name)
        elif info.issym():
            self.links.append((name, info.linkname))
        elif info.type in (tarfile.REGTYPE, tarfile.AREGTYPE):
            self.write(path, info)
        else:
            raise Unfit(f"{name} is neither a file nor a folder nor a link")

    def write(self, path, info):
        mode = 0o755 if info.mode & 0o100 else 0o644
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
        with os.fdopen(file, "wb") as file:
            for piece in self.content(info.size):
                file.write(piece)
        # Compiled modules are valid for the time of their source.
        os.utime(path, (info.mtime, info.mtime))

    def make_links(self, pythons):
        for name, target in self.links:
            if target == "" or os.path.isabs(target) or "\0" in target:
                raise Unfit(f"{name} is a link to outside of the virtualenv")
            os.symlink(target, os.path.join(self.venv, name))
        root = os.path.realpath(self.venv) + os.sep
        for name, target in self.links:
            if not (os.path.realpath(os.path.join(self.venv, name)) + os.sep).startswith(root):
                raise Unfit(f"{name} is a link to outside of the virtualenv")
        for name in map(checked, pythons):
            if os.path.dirname(name) != "bin" or "bin" not in self.folders:
                raise Unfit(f"{name} is no program")
            os.symlink(self.python, os.path.join(self.venv, name))

    def settle(self, built):
        """
        Writes the new path where programs contain the one at which the virtualenv was built. There are no links yet: one
        could lead to the interpreter of this node.
        """
        config = os.path.join(self.venv, "pyvenv.cfg")
        home = f"home = {os.path.dirname(self.python)}\n"
        lines = self.moved(config, built).decode("utf-8", "surrogateescape").splitlines(keepends=True)
        lines = [home if re.match(r"home\s*=", line) else line for line in lines]
        rewrite(config, "".join(lines).encode("utf-8", "surrogateescape"))
        programs = os.path.join(self.venv, "bin")
        for name in os.listdir(programs):
            path = os.path.join(programs, name)
            if is_file(path) and os.path.getsize(path) <= MOST_SCRIPT:
                text = self.moved(path, built)
                if b"\0" not in text:
                    rewrite(path, startable(text, os.path.join(programs, "")))

    def moved(self, path, built):
        with open(path, "rb") as file:
            return file.read().replace(os.fsencode(built), os.fsencode(self.venv))

    def verify(self):
        """Throws unless the interpreter starts and has its packages in this virtualenv."""
        words = [os.path.join(self.venv, "bin", "python"), "-I", "-c", "import sys; print(sys.prefix)"]
        found = subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if found.returncode != 0 or os.path.realpath(found.stdout.strip()) != os.path.realpath(self.venv):
            raise Unfit(f"its Python does not start: {found.stderr.strip()[-300:]}")


def checked(name):
    """Returns a path within the virtualenv. Throws if it could lead elsewhere."""
    if not isinstance(name, str) or "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
        raise Unfit(f"{name!r} is not a path within the virtualenv")
    return name


def is_file(path):
    return stat.S_ISREG(os.lstat(path).st_mode)


def rewrite(path, text):
    """Replaces the content of a file, and keeps its mode and time."""
    found = os.stat(path)
    with open(path, "wb") as file:
        file.write(text)
    os.utime(path, (found.st_mtime, found.st_mtime))


def startable(text, programs):
    """
    Returns a script that the kernel can start. If the path of its interpreter is too long, a shell starts it, in lines
    that Python takes for a text.
    """
    first, _, rest = text.partition(b"\n")
    if len(first) <= MOST_FIRST_LINE or not first.startswith(b"#!" + os.fsencode(programs)):
        return text
    return b"#!/bin/sh\n'''exec' " + first[2:] + b" \"$0\" \"$@\"\n' '''\n" + rest


def fetch(settings):
    venv = settings["venv"]
    # The path gets into the first lines of scripts, which have no quotes.
    if not re.fullmatch(r"[\w./+@:=,-]+", venv):
        raise Unfit(f"{venv} has special characters")

    def unpack(answer):
        # An earlier try may have been cut.
        shutil.rmtree(venv, ignore_errors=True)
        unpacked = Unpacked(venv, settings["python"])
        unpacked.unpack(answer)
        unpacked.verify()

    try:
        Server(settings).fetch(unpack)
    except BaseException:
        shutil.rmtree(venv, ignore_errors=True)
        raise


def store(settings):
    venv, python = settings["venv"], settings["python"]
    try:
        Server(settings).store(lambda: Packed(venv, python).pieces())
    except Refused as refusal:
        # Another runner has stored it meanwhile.
        if refusal.status != 409:
            raise


def main():
    what, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    os.remove(path)
    try:
        {"fetch": fetch, "store": store}[what](settings)
        return DONE
    except Exception as error:
        if what == "fetch" and isinstance(error, Refused) and error.status == 404:
            return NONE
        done = "fetched, so it is built" if what == "fetch" else "stored"
        print(f"The pack of this virtualenv could not be {done}: {error}")
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
