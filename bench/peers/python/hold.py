"""hold.py PROGRAM ARGUMENT...: runs a program and keeps everything that it starts below this process, even processes
that leave their parent. Kills all of them when it gets SIGTERM or when the process that started it dies."""

import ctypes
import os
import signal
import subprocess
import sys

DEATH_SIGNAL, CHILD_SUBREAPER = 1, 36


def children(process):
    """Processes that this one has started, from any of its threads."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as file:
                found += [int(word) for word in file.read().split()]
    except OSError:
        pass  # It has just ended.
    return found


def kill_below(process):
    for child in children(process):
        kill_below(child)
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass


def end(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        kill_below(os.getpid())
        try:
            os.wait()
        except ChildProcessError:
            os._exit(143)


libc = ctypes.CDLL(None)
libc.prctl(CHILD_SUBREAPER, 1, 0, 0, 0)
libc.prctl(DEATH_SIGNAL, int(signal.SIGTERM), 0, 0, 0)
signal.signal(signal.SIGTERM, end)
first = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
while True:
    try:
        process, status = os.wait()
    except ChildProcessError:
        sys.exit(1)
    if process == first.pid:
        end()
