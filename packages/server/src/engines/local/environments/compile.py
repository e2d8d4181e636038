"""Compiles the modules below a folder to bytecode. What lies there is strangers': it is read, and nothing of it runs.

Run with `-I -S`, by an interpreter from elsewhere: that of the folder would run its `.pth` files.
"""

import os
import py_compile
import resource
import sys

# The compiler takes 500 bytes and more for a byte of source. Nobody writes modules as long by hand.
LONGEST = 1024 * 1024
MEMORY = 1024 * 1024 * 1024
# Bytecode is about as long as its source, unless constants are made to be long: then it is left out, and soon all of it.
SPARE = 64 * 1024
SPARE_OF_ALL = 16 * 1024 * 1024
# Others need what is left of the disk more.
ROOM = 1024 * 1024 * 1024


def modules(folder):
    """Links are not followed: they may lead elsewhere."""
    for at, folders, names in os.walk(folder):
        if "__pycache__" in folders:
            folders.remove("__pycache__")
        if os.path.islink(os.path.join(at, "__pycache__")):
            continue
        for name in names:
            path = os.path.join(at, name)
            if name.endswith(".py") and not os.path.islink(path) and os.path.getsize(path) <= LONGEST:
                yield path


def protect_others():
    """Where the machine has no memory left, this goes first."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * LONGEST + SPARE, 4 * LONGEST + SPARE))
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def compile_one(module):
    """Returns the bytes of its bytecode. What cannot be compiled is compiled by each job that imports it, in vain."""
    try:
        compiled = py_compile.compile(module, quiet=2)
        size = os.path.getsize(compiled) if compiled else 0
        if size > 4 * os.path.getsize(module) + SPARE:
            os.unlink(compiled)
            return SPARE
        return size
    except (OSError, ValueError, MemoryError, RecursionError):
        return 0


protect_others()
folder = sys.argv[1]
sources = written = 0
for module in modules(folder):
    disk = os.statvfs(folder)
    if written > 2 * sources + SPARE_OF_ALL or disk.f_bavail * disk.f_frsize < ROOM:
        break
    sources += os.path.getsize(module)
    written += compile_one(module)
