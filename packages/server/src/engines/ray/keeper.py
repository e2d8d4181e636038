"""
Runs a runner on a node of a Ray cluster. Ray starts this file as the entrypoint of a job.

Ray ends an entrypoint by a TERM and, three seconds later, a KILL to everything that descends from it at that moment.
If one of Ray's own processes dies, Ray kills the entrypoint without a word. Either would leave processes and files of
the job behind. So the runner is not a descendant of the entrypoint, but of a process of its own, the keeper. When the
runner ends, for whatever reason, the keeper ends what is left of the job and deletes its files. If Ray asks the
entrypoint to end, the keeper gives the runner a moment and then ends it. If Ray merely dies, the job goes on: the
runner reports to the server, not to Ray.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from runner import Processes  # noqa: E402: the runner lies beside this file

# Seconds from Ray's TERM to our KILL; Ray itself kills after three.
GRACE = 2


def read_variables():
    """Reads the runner's variables, and deletes them: nobody needs the code on this disk any more."""
    path = os.path.join(HERE, "variables.json")
    with open(path, encoding="utf-8") as file:
        variables = json.load(file)
    os.remove(path)
    return variables


def environment(variables, folder):
    """The variables of the runner. Those of Ray, among which is the cluster's token, are left out."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_") and name != "PYTHONPATH"}
    return {**own, **variables, "MILLRACE_RUNNER_FOLDER": folder}


def end_when_asked(entrypoint, runner):
    """Ends the runner if Ray asks for it. Without a word from the entrypoint, Ray has died, and the job goes on."""
    if entrypoint.recv(1) == b"":
        return
    try:
        runner.wait(GRACE)
    except subprocess.TimeoutExpired:
        runner.kill()


def keep(entrypoint, variables, parent):
    processes = Processes()
    folder = tempfile.mkdtemp(prefix="millrace-ray-", dir=parent)
    words = [sys.executable, "-I", "-S", os.path.join(HERE, "runner.py")]
    runner = subprocess.Popen(words, env=environment(variables, folder), cwd=folder, stdin=subprocess.DEVNULL)
    threading.Thread(target=end_when_asked, args=(entrypoint, runner), daemon=True).start()
    code = runner.wait()
    processes.kill_all()
    shutil.rmtree(folder, ignore_errors=True)
    try:
        entrypoint.send(bytes([code if code >= 0 else 128 - code]))
    except OSError:
        pass


def main():
    variables = read_variables()
    own, keepers = socket.socketpair()
    if os.fork() == 0:
        own.close()
        os.setsid()
        # The keeper's parent ends, so the keeper is no descendant of the entrypoint.
        if os.fork() == 0:
            keep(keepers, variables, sys.argv[1] or None)
        os._exit(0)
    keepers.close()
    signal.signal(signal.SIGTERM, lambda *_: own.send(b"T"))
    os.wait()
    answer = own.recv(1)
    return answer[0] if answer else 1


if __name__ == "__main__":
    sys.exit(main())
