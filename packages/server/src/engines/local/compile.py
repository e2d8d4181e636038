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
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass


protect_others()
for module in modules(sys.argv[1]):
    try:
        py_compile.compile(module, quiet=2)
    except (OSError, ValueError, MemoryError, RecursionError):
        # It is compiled by each job that imports it, in vain.
        pass
