"""Tries to reach an interpreter that waits for a job, and prints each way that worked."""

import os

pid, folder, script = int(os.environ["WAITING_PID"]), os.environ["WAITING_FOLDER"], os.environ["WAITING_SCRIPT"]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def is_waiting(process):
    """A process of this job may have the same number."""
    return script.encode() in read(f"/proc/{process}/cmdline").split(b"\0")


def works(way):
    try:
        return bool(way())
    except OSError:
        return False


ways = {
    "see its process": lambda: any(works(lambda: is_waiting(name)) for name in os.listdir("/proc") if name.isdigit()),
    "signal it": lambda: os.kill(pid, 0) is None and is_waiting(pid),
    "read its variables": lambda: is_waiting(pid) and read(f"/proc/{pid}/environ"),
    "read its memory": lambda: is_waiting(pid) and os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY)) is None,
    "see its files through its process": lambda: is_waiting(pid) and os.listdir(f"/proc/{pid}/root"),
    "list its folder": lambda: os.listdir(folder),
    "read its input": lambda: read(f"{folder}/input/env"),
    "write to its working folder": lambda: os.access(f"{folder}/work", os.W_OK),
    "give it a job": lambda: os.access(f"{folder}/ask", os.W_OK),
    "answer for it": lambda: os.access(f"{folder}/answer", os.W_OK),
    "start it": lambda: os.access(f"{folder}/go", os.W_OK),
}
print("REACHED", [name for name, way in ways.items() if works(way)])
