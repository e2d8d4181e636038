"""Compiles the modules below a folder to bytecode. The modules are foreign code: they are read and never run.

Run it with `-I -S`, by an interpreter outside the folder: the folder's own interpreter would run its `.pth` files.
"""

import os
import py_compile
import resource
import sys

# Maximum size in bytes of a source file that is compiled. The compiler needs at least 500 bytes of memory per byte of
# source.
LONGEST = 1024 * 1024
MEMORY = 1024 * 1024 * 1024
# Bytecode is usually as long as its source, but crafted constants can make it huge. If the bytecode of one module exceeds
# four times its source plus SPARE bytes, it is deleted. If all bytecode exceeds twice all sources plus SPARE_OF_ALL bytes,
# the compilation stops.
SPARE = 64 * 1024
SPARE_OF_ALL = 16 * 1024 * 1024
# Free disk space in bytes below which the compilation stops.
ROOM = 1024 * 1024 * 1024


def modules(folder):
    """Yields the paths of modules. Symbolic links are not followed, because they may point outside the folder."""
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
    """Limits memory and file sizes, and makes this process the first that the kernel kills if memory runs out."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (4 * LONGEST + SPARE, 4 * LONGEST + SPARE))
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


def compile_one(module):
    """Compiles a module and returns the size of its bytecode; 0 if it cannot be compiled."""
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
