"""
Runs one attempt of a job on a machine that is not the server's. An engine (Slurm, Kubernetes, Ray) places this file
there. It claims the attempt from the server with a code that works once, gets the job in the answer, runs its phases,
sends its log, and reports how it ended. The protocol is described in docs/engines.md.

It needs Python 3.9 or newer and nothing else. It is started with three variables: MILLRACE_RUNNER_URL (the server),
MILLRACE_RUNNER_KEY (the attempt) and MILLRACE_RUNNER_CODE. Two more are optional: MILLRACE_RUNNER_FOLDER (where the
folder of the job is made) and MILLRACE_RUNNER_ENVIRONMENTS (where virtualenvs are kept for later jobs, with
MILLRACE_RUNNER_KEPT_DAYS and MILLRACE_RUNNER_KEPT_BYTES). If the server is away, it goes on: the log is a file here, and
what could not be sent is sent later.
"""

import contextlib
import ctypes
import fcntl
import hashlib
import http.client
import json
import os
import platform
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

# Exit codes of the runner itself. An engine that sees them knows that no job has run.
REFUSED = 91
CANNOT_RUN = 92

# A runner that has not reached its server for this many seconds, so that it knows no job, leaves its place to others.
MOST_UNCLAIMED = 24 * 3600
# Seconds that one request may take; a beat is answered after at most `BEAT` seconds.
PATIENCE = 60
BEAT = 5
# A new step is told after this many seconds, unless the job has ended by then.
STEP = 0.2
# The most bytes of the log in one request.
PIECE = 1024 * 1024
SMALLEST_PIECE = 1024
MOST_METRICS = 64 * 1024
# Seconds between two samples of what the job uses. Counting its files takes at most this share of the time.
SAMPLE = 1
COUNTING_SHARE = 20
# Seconds between two looks for virtualenvs that are no longer needed.
SWEEP = 3600
# If the cluster ends this runner with SIGTERM, the job has this many seconds.
GRACE = 20
# Variables of the machine that a build of a virtualenv gets: how to reach packages, and nothing else.
BUILD_VARIABLES = ("PIP_", "UV_", "SSL_CERT_", "REQUESTS_CA_BUNDLE", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY")
# Beginnings of the names of variables by which a cluster tells a job what it was given. The job gets these.
PASSED = ("SLURM_", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")


class Refused(Exception):
    """The server refuses this runner: the attempt is somebody else's, or it is over. `code` is the HTTP status."""

    def __init__(self, code, text):
        super().__init__(f"{code} {text}")
        self.code = code


class Rejected(Exception):
    """The server cannot accept what this request holds, and would not accept it later."""


class TooLarge(Rejected):
    """The request is larger than the server, or a proxy before it, accepts."""


def refusal_in(status, text):
    """
    Returns the exception that an answer with an error means; None if the request is to be repeated. Proxies answer as
    well while a server restarts, for example with 404; only the server's own word counts.
    """
    if status == 413:
        return TooLarge(text)
    try:
        is_own = "code" in json.loads(text)
    except (ValueError, TypeError):
        is_own = False
    if not is_own or status >= 500 or status in (408, 429):
        return None
    return Refused(status, text) if status in (401, 404, 409, 410) else Rejected(f"{status} {text}")


class Server:
    """Sends requests to the server, again and again while it cannot be reached."""

    def __init__(self, url, key):
        self.base = url.rstrip("/") + "/api/runner"
        self.key = key
        self.secret = ""

    def call(self, name, body, query=None, tries=None, seconds=None):
        """
        Returns the answer as an object. Raises Refused if the server says that there is nothing to do here, and
        TimeoutError after so many tries or seconds without an answer.
        """
        left, began = [tries], time.monotonic()

        def gives_up():
            left[0] = left[0] and left[0] - 1
            return left[0] == 0 or (seconds is not None and time.monotonic() - began > seconds)

        return self.repeat(lambda: self.send(name, body, query or {}), gives_up)

    def repeat(self, request, gives_up):
        """Repeats a request until it is answered in full. An answer may be cut in the middle."""
        pause = 0.2
        while True:
            try:
                return request()
            except urllib.error.HTTPError as error:
                text = read_error(error)
                refusal = refusal_in(error.code, text)
                if refusal is not None:
                    raise refusal from None
            except (OSError, ValueError, http.client.HTTPException) as error:
                text = str(error)
            if gives_up():
                raise TimeoutError(text)
            time.sleep(pause)
            pause = min(pause * 2, 10)

    def send(self, name, body, query):
        raw = isinstance(body, bytes)
        url = f"{self.base}/{name}?" + urllib.parse.urlencode({"key": self.key, **query})
        request = urllib.request.Request(url, data=body if raw else json.dumps(body).encode(), method="POST")
        request.add_header("content-type", "application/octet-stream" if raw else "application/json")
        request.add_header("authorization", "Bearer " + self.secret)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    def fetch(self, index, path, gives_up):
        """Writes an attached file of the job to `path`, from its beginning each time."""
        self.repeat(lambda: self.copy(index, path), gives_up)

    def copy(self, index, path):
        url = f"{self.base}/file?" + urllib.parse.urlencode({"key": self.key, "index": index})
        request = urllib.request.Request(url)
        request.add_header("authorization", "Bearer " + self.secret)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer, open(path, "wb") as file:
            shutil.copyfileobj(answer, file, PIECE)
            whole = answer.getheader("content-length")
            if whole is not None and int(whole) != file.tell():
                raise OSError(f"the file has {whole} bytes, and {file.tell()} arrived")


def read_error(error):
    try:
        return error.read(4096).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as cut:
        return str(cut)


class Processes:
    """The processes of the job: everything that descends from this process, also what lost its parent."""

    SUBREAPER = 36

    def __init__(self):
        # Processes and threads at the last sample.
        self.tasks = 0
        ctypes.CDLL(None).prctl(self.SUBREAPER, 1, 0, 0, 0)

    def stats(self):
        """Returns the fields of /proc/PID/stat, from the state on, of every process of the job, by pid."""
        stats, children = {}, {}
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                    stats[int(name)] = fields = file.read().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append(int(name))
        found, waiting = {}, [os.getpid()]
        while waiting:
            own = children.get(waiting.pop(), [])
            found.update((pid, stats[pid]) for pid in own)
            waiting += own
        return found

    def all(self):
        return [pid for pid, fields in self.stats().items() if fields[0] != "Z"]

    def usage(self):
        """Samples what the job uses. CPU time includes processes that have ended; what they used is with their parents."""
        stats = self.stats().values()
        ticks = sum(sum(map(int, fields[11:15])) for fields in stats)
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        alive = [fields for fields in stats if fields[0] != "Z"]
        self.tasks = sum(int(fields[17]) for fields in alive)
        return {
            "cpu_seconds": ticks / os.sysconf("SC_CLK_TCK") + ended.ru_utime + ended.ru_stime,
            "memory_bytes": sum(max(0, int(fields[21])) for fields in alive) * resource.getpagesize(),
            "processes": len(alive),
        }

    def memory(self):
        """Returns the bytes that the processes occupy together: what several of them share counts once."""
        return sum(map(proportional, self.all()))

    def signal(self, number):
        for pid in self.all():
            try:
                os.kill(pid, number)
            except OSError:
                pass

    def kill_all(self):
        while self.all():
            self.signal(signal.SIGKILL)
            self.reap()
            time.sleep(0.005)
        self.reap()

    def reap(self):
        try:
            while os.waitpid(-1, os.WNOHANG)[0] != 0:
                pass
        except ChildProcessError:
            pass


def proportional(pid):
    """Returns the memory of a process, with its share of what it shares with others."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="latin-1") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except OSError:
        return 0  # It has ended, or it is not ours any more.


class Attempt:
    """What the threads of the runner share. `lock` guards the steps and the orders."""

    def __init__(self):
        self.lock = threading.Lock()
        self.steps = []
        self.canceled = False
        self.forced = False
        self.usage = None
        # The limit that ended the job: memory, processes, disk, log or lease.
        self.over_limit = None
        self.refused = False
        self.over = threading.Event()
        self.log_done = threading.Event()
        self.began = self.heard = time.monotonic()


class LogSender(threading.Thread):
    """
    Sends the log as it grows. After the end of the job it sends the rest, however long the server is away. What is
    beyond the limit of the log is not sent.
    """

    def __init__(self, server, path, attempt, limit):
        super().__init__(daemon=True)
        self.server, self.path, self.attempt = server, path, attempt
        self.limit = limit or float("inf")
        self.piece = PIECE
        self.offset = 0
        self.problem = None

    def size(self):
        """Returns the size of the log as the server is to have it."""
        return min(os.path.getsize(self.path), self.limit)

    def is_over(self):
        return os.path.getsize(self.path) > self.limit

    def run(self):
        try:
            self.send()
        except Refused:
            self.attempt.refused = True
        self.attempt.log_done.set()

    def send(self):
        try:
            with open(self.path, "rb") as file:
                while self.pass_on(file):
                    pass
        except Refused:
            raise
        except Exception as error:  # The end of the job counts all the same.
            self.problem = error

    def owed(self):
        """Returns the size of the log that the server is to have; if it cannot be sent, what the server has."""
        return self.size() if self.problem is None else self.offset

    def pass_on(self, file):
        over = self.attempt.over.is_set()
        file.seek(self.offset)
        piece = file.read(min(self.piece, max(0, self.size() - self.offset)))
        if piece:
            self.offset = self.accepted(piece)
        elif over:
            return False
        else:
            self.attempt.over.wait(0.1)
        return True

    def accepted(self, piece):
        try:
            return self.server.call("log", piece, {"offset": self.offset})["size"]
        except TooLarge:
            # A proxy may accept less than the server.
            if self.piece <= SMALLEST_PIECE:
                raise
            self.piece //= 2
            return self.offset
        except Refused as refusal:
            if refusal.code != 409:
                raise
            # The log is longer than the server allows by now; `Watch` ends the job.
            self.limit = self.offset
            return self.offset


class Watch(threading.Thread):
    """Samples what the job uses, and ends it if it exceeds a limit, or if its server was not heard for its lease."""

    def __init__(self, attempt, processes, job, folder, sender):
        super().__init__(daemon=True)
        self.attempt, self.processes, self.folder, self.sender = attempt, processes, folder, sender
        self.limits = {**job["limits"], "memory": in_bytes(job["limits"]["memory"])}
        self.lease = job["lease_seconds"]
        self.count_next = 0

    def run(self):
        while not self.attempt.over.wait(SAMPLE):
            over = self.exceeded()
            if over is not None:
                self.attempt.over_limit = self.attempt.over_limit or over
                with self.attempt.lock:
                    self.attempt.canceled = self.attempt.forced = True
                self.processes.signal(signal.SIGKILL)

    def exceeded(self):
        # What a job does may make one of these fail. The others hold all the same, and the next sample may succeed.
        checks = {"usage": self.sample, "lease": self.is_unheard, "log": self.sender.is_over}
        checks.update(memory=self.is_memory_over, processes=self.is_crowded, disk=self.is_disk_over)
        for name, is_over in checks.items():
            try:
                if is_over():
                    return name
            except Exception:
                continue
        return None

    def sample(self):
        self.attempt.usage = self.processes.usage()

    def is_unheard(self):
        return self.lease is not None and time.monotonic() - self.attempt.heard > self.lease

    def is_memory_over(self):
        # Adding up what processes share is quick and gives too much, so that it only tells when to look closer.
        most = self.limits["memory"]
        return 0 < most < self.attempt.usage["memory_bytes"] and self.processes.memory() > most

    def is_crowded(self):
        return 0 < self.limits["processes"] < self.processes.tasks

    def is_disk_over(self):
        began = time.monotonic()
        if self.limits["disk"] == 0 or began < self.count_next:
            return False
        # The log has a limit of its own.
        used = disk_usage(self.folder, self.sender.path)
        took = time.monotonic() - began
        self.count_next = time.monotonic() + max(2 * SAMPLE, COUNTING_SHARE * took)
        return used > self.limits["disk"]


def in_bytes(memory):
    """Returns a limit of memory in bytes. A percentage is one of this machine's memory."""
    if not isinstance(memory, str):
        return memory
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * int(memory.rstrip("%")) // 100


def limit_open_files(most):
    """Limits the open files of each process: children inherit it. Only root could exceed the machine's own limit."""
    own = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if most > 0:
        most = most if own == resource.RLIM_INFINITY else min(most, own)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def disk_usage(folder, without):
    """
    Returns the bytes that the files below a folder occupy, except one. A file with several names counts once. Folders
    may be nested as deeply as a job likes, so this is not recursive.
    """
    skipped = without and os.stat(without)
    seen, total, waiting = set(), 0, [folder]
    while waiting:
        for entry in entries(waiting.pop()):
            try:
                found = os.lstat(entry)
            except OSError:
                continue
            # By its number, because its name may have become that of another file.
            if skipped and os.path.samestat(found, skipped):
                continue
            if stat.S_ISDIR(found.st_mode):
                waiting.append(entry)
            if found.st_nlink == 1 or (found.st_dev, found.st_ino) not in seen:
                total += found.st_blocks * 512
            if found.st_nlink > 1:
                seen.add((found.st_dev, found.st_ino))
    return total


def entries(folder):
    try:
        return [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []


class KeptEnvironments:
    """
    The folder in which virtualenvs are kept for later jobs, perhaps on a file system that several machines share. Who
    builds one holds its lock alone. Who uses one shares its lock until the runner ends, so that nobody removes it.
    """

    def __init__(self, folder, days, most):
        self.folder, self.days, self.most = folder, days, most
        self.in_use = None

    @classmethod
    def of(cls, variables):
        """Returns the folder that the cluster names; None if it names none."""
        folder = variables.get("MILLRACE_RUNNER_ENVIRONMENTS")
        limits = (float(variables.get(f"MILLRACE_RUNNER_KEPT_{name}", 0)) for name in ("DAYS", "BYTES"))
        return cls(folder, *limits) if folder else None

    def place(self, team, key):
        folder = os.path.join(self.folder, f"team-{team}")
        os.makedirs(folder, 0o700, exist_ok=True)
        return os.path.join(folder, key)

    def uses(self, venv):
        """Takes a virtualenv into use, if it is ready."""
        if not os.path.exists(venv + ".ready"):
            return False
        self.in_use = locked(venv + ".lock", fcntl.LOCK_SH)
        if self.in_use is None:
            return False
        try:
            # When it was last used. It may have been removed before the lock was taken.
            os.utime(venv + ".ready")
            return True
        except FileNotFoundError:
            self.in_use.close()
            return False

    @contextlib.contextmanager
    def building(self, venv):
        """Tells whether the caller is to build a virtualenv: nobody else builds it, and it is not ready."""
        lock = locked(venv + ".lock", fcntl.LOCK_EX)
        if lock is None:
            yield False
            return
        with lock:
            yield not os.path.exists(venv + ".ready")

    def note_ready(self, venv):
        with open(venv + ".draft", "w", encoding="utf-8") as file:
            file.write(str(disk_usage(venv, None)))
        os.replace(venv + ".draft", venv + ".ready")

    def sweep(self):
        """
        Removes virtualenvs that have not been used for some days, and those used longest ago if all together are too
        large. One runner does this, once an hour.
        """
        with open(os.path.join(self.folder, ".swept"), "a") as mark:
            try:
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return
            if time.time() - os.fstat(mark.fileno()).st_mtime < SWEEP:
                return
            os.utime(mark.fileno())
            total = 0
            for used, size, venv in sorted(self.found(), reverse=True):
                total += size
                is_old = 0 < self.days * 86400 < time.time() - used
                if used == 0 or is_old or 0 < self.most < total:
                    self.remove(venv, used)

    def found(self):
        """Lists when each virtualenv was last used, its size and its path. An unfinished one was used at 0."""
        teams = (entry for entry in os.scandir(self.folder) if re.fullmatch(r"team-\d+", entry.name))
        for team in teams:
            if team.is_dir(follow_symlinks=False):
                keys = {name.partition(".")[0] for name in os.listdir(team.path)}
                for key in filter(re.compile("[0-9a-f]{40}").fullmatch, keys):
                    venv = os.path.join(team.path, key)
                    yield (*last_use(venv), venv)

    def remove(self, venv, used):
        lock = locked(venv + ".lock", fcntl.LOCK_EX)
        if lock is None:
            return
        with lock:
            # Somebody may have used it, or built it, since it was looked at.
            if last_use(venv)[0] != used:
                return
            # Whatever interrupts this, what is left does not count as ready.
            for name in (".ready", ".draft"):
                with contextlib.suppress(FileNotFoundError):
                    os.remove(venv + name)
            shutil.rmtree(venv, ignore_errors=True)
            os.remove(venv + ".lock")


def last_use(venv):
    """Returns when a virtualenv was last used, and its size. Both are 0 if it is not ready."""
    try:
        with open(venv + ".ready", encoding="utf-8") as file:
            size = file.read(20)
            return os.fstat(file.fileno()).st_mtime, int(size) if size.isdecimal() else disk_usage(venv, None)
    except (OSError, ValueError):
        return 0, 0


def locked(path, how):
    """Returns the open lock file, or None if somebody else holds it."""
    file = open(path, "a+")
    with contextlib.suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(file, how | fcntl.LOCK_NB)
        # Who removes a virtualenv removes its lock as well; then this file is the lock of nothing.
        if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            return file
    file.close()
    return None


def satisfies(version, wanted):
    """Tells whether a version of Python is the one that is wanted: `3.12`, or conditions such as `>=3.10,<3.13`."""
    return all(meets(version, condition.strip()) for condition in wanted.split(","))


def meets(version, condition):
    found = re.fullmatch(r"(>=|<=|==|!=|~=|>|<)? ?v?([\d.]+?)(\.\*)?", condition)
    if found is None:
        return False
    operator, bound = found[1] or "==", found[2]
    order = numbers(version), numbers(bound)
    is_within = f"{version}.".startswith(f"{bound}.")
    return {
        "==": is_within,
        "!=": not is_within,
        "~=": order[0] >= order[1] and version.startswith(bound.rpartition(".")[0] + "."),
        ">=": order[0] >= order[1],
        "<=": order[0] <= order[1] or is_within,
        ">": order[0] > order[1] and not is_within,
        "<": order[0] < order[1],
    }[operator]


def numbers(version):
    """Returns the numbers of a version, so that versions can be compared: 3.9 is older than 3.10, and 3 is 3.0."""
    parts = [int(re.match(r"\d*", part)[0] or 0) for part in version.split(".")]
    return parts + [0] * (8 - len(parts))


class Beats(threading.Thread):
    """Tells the server that the attempt is alive, and obeys its orders. The server answers a beat when there is one."""

    def __init__(self, server, attempt, processes):
        super().__init__(daemon=True)
        self.server, self.attempt, self.processes = server, attempt, processes

    def run(self):
        while not self.attempt.over.is_set():
            try:
                self.beat(wait=True)
            except Refused:
                self.attempt.refused = True
                self.processes.signal(signal.SIGKILL)
                return
            except Exception:
                self.attempt.over.wait(1)

    def beat(self, wait):
        with self.attempt.lock:
            steps = list(self.attempt.steps)
            orders = {"cancel": self.attempt.canceled, "force": self.attempt.forced}
        sent = time.monotonic()
        body = {"steps": steps, "age": sent - self.attempt.began, "orders": orders, "wait": wait}
        self.obey(self.server.call("beat", {**body, "usage": self.attempt.usage}, tries=1))
        # The server counts from when it heard this beat, so this runner gives up before the server does.
        self.attempt.heard = max(self.attempt.heard, sent)

    def tell_step(self):
        """Tells of a new step beside the beat that waits for orders. A job that ends at once need not tell."""

        def tell():
            if not self.attempt.over.wait(STEP):
                try:
                    self.beat(wait=False)
                except Exception:
                    pass  # The next beat tells it.

        threading.Thread(target=tell, daemon=True).start()

    def obey(self, orders):
        with self.attempt.lock:
            asks = orders["cancel"] and not self.attempt.canceled
            self.attempt.canceled |= orders["cancel"]
            self.attempt.forced |= orders["force"]
        if self.attempt.forced:
            self.processes.signal(signal.SIGKILL)
        elif asks:
            self.processes.signal(signal.SIGTERM)


def now():
    return int(time.time() * 1000)


class Runner:
    def __init__(self, server, job, folder):
        self.server, self.job, self.folder = server, job, folder
        self.attempt = Attempt()
        self.processes = Processes()
        self.beats = Beats(server, self.attempt, self.processes)
        self.work = os.path.join(folder, "work")
        self.input = os.path.join(folder, "input")
        # The path of the log that the job cannot take away: it stays, also if the file is removed or replaced.
        self.log = f"/proc/self/fd/{os.open(os.path.join(folder, 'log'), os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)}"
        self.python = sys.executable
        self.kept = KeptEnvironments.of(os.environ)

    def run(self):
        for path in (self.work, self.input):
            os.mkdir(path, 0o700)
        limits = self.job["limits"]
        limit_open_files(limits.get("open_files", 0))
        sender = LogSender(self.server, self.log, self.attempt, limits.get("log", 0))
        watch = Watch(self.attempt, self.processes, self.job, self.folder, sender)
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=self.leave, daemon=True).start())
        for thread in (sender, self.beats, watch):
            thread.start()
        code, phase = self.run_phases()
        finished = now()
        usage = self.processes.usage()
        self.processes.kill_all()
        self.attempt.over.set()
        self.attempt.log_done.wait()
        if self.attempt.refused:
            return REFUSED
        if sender.problem is not None:
            print(f"The log could not be sent in full: {sender.problem}", file=sys.stderr)
        report = {"exit_code": code, "phase": phase, "finished_at": finished, "metrics": self.metrics()}
        # The job may have written much just before its end.
        over = self.attempt.over_limit or ("log" if sender.is_over() else None)
        self.report({**report, "steps": self.attempt.steps, "usage": usage, "over_limit": over}, sender)
        return 0

    def tidy(self):
        """Removes old virtualenvs, after the end was reported: nobody waits for it."""
        if self.kept is not None and self.job["requirements"] is not None:
            with contextlib.suppress(OSError):
                self.kept.sweep()

    def leave(self):
        """The cluster wants its machine back: the job is asked to end, and killed after the grace."""
        self.beats.obey({"cancel": True, "force": False})
        if not self.attempt.over.wait(GRACE):
            self.beats.obey({"cancel": True, "force": True})

    def report(self, report, sender):
        """
        Reports the end. If the server lacks a part of the log, because it lost what it had, sends that again. If it
        cannot accept the metrics or the usage of the job, the end counts without them.
        """
        while True:
            try:
                self.server.call("end", {**report, "log_size": sender.owed()})
                return
            except Rejected:
                if report["metrics"] is None and report["usage"] is None:
                    raise
                report = {**report, "metrics": None, "usage": None if report["metrics"] is None else report["usage"]}
                continue
            except Refused as refusal:
                if refusal.code != 409:
                    raise
            sender.offset = 0
            sender.send()

    def run_phases(self):
        phases = [
            ("repository", self.job["repository"] is not None, self.clone),
            ("files", bool(self.job["files"]), self.place_files),
            ("environment", self.job["requirements"] is not None, self.build),
            ("query", True, self.query),
        ]
        code, last = 0, "start"
        try:
            self.python = self.choose_python()
        except (LookupError, OSError) as error:
            self.say(str(error))
            return 1, last
        for name, wanted, run in phases:
            if not wanted:
                continue
            with self.attempt.lock:
                if self.attempt.canceled or self.attempt.refused:
                    return 137 if self.attempt.forced else 143, last
                self.attempt.steps.append({"name": name, "started_at": now()})
            self.beats.tell_step()
            last = name
            code = self.guarded(run)
            if code != 0:
                break
        return code, last

    def choose_python(self):
        """
        Returns the interpreter that the job asks for: the runner's own, or the newest one on PATH that matches. Without
        a wish, it is the runner's own.
        """
        wanted = self.job["python_version"]
        own = platform.python_version()
        if wanted is None or satisfies(own, wanted):
            return sys.executable
        found = {self.version_of(path): path for path in self.pythons()}
        newest = sorted(filter(None, {*found, own}), key=numbers, reverse=True)
        chosen = next((version for version in newest if satisfies(version, wanted)), None)
        if chosen is not None:
            return found[chosen]
        raise LookupError(
            f"Python {wanted} is not installed on {platform.node()}. Installed versions: {', '.join(newest)}."
        )

    def pythons(self):
        names = ["python3", *(f"python3.{minor}" for minor in range(40))]
        return [path for path in map(shutil.which, names) if path]

    def version_of(self, python):
        words = [python, "-I", "-c", "import platform; print(platform.python_version())"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()

    def guarded(self, run):
        try:
            return run()
        except Exception as error:
            self.say(f"{type(error).__name__}: {error}")
            return 1

    def say(self, text):
        # The machine's disk may be full. What cannot be said does not keep the runner from reporting the end.
        with contextlib.suppress(OSError), open(self.log, "ab") as file:
            file.write(text.encode("utf-8", "replace") + b"\n")

    def start(self, words, environment=None, folder=None):
        """Runs a command in the working folder, with its output in the log. Returns 128 + n if signal n ended it."""
        with open(self.log, "ab") as log:
            child = subprocess.Popen(
                words,
                cwd=folder or self.work,
                env=self.environment() if environment is None else environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                restore_signals=True,
            )
        # An order that came while the process was being started has not reached it.
        if self.attempt.forced:
            self.processes.signal(signal.SIGKILL)
        elif self.attempt.canceled:
            child.terminate()
        code = child.wait()
        return code if code >= 0 else 128 - code

    def path(self):
        return os.environ.get("PATH", "/usr/local/bin:/usr/bin:/bin")

    def environment(self):
        own = {
            **{name: value for name, value in os.environ.items() if name.startswith(PASSED)},
            "LANG": "C.UTF-8",
            "PATH": self.path(),
            "PYTHONUNBUFFERED": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "HOME": self.work,
        }
        return {**own, **self.job["environment"], "MILLRACE_METRICS_FILE": self.metrics_file()}

    def script(self, name):
        """Writes one of the server's shell scripts and returns its path."""
        path = os.path.join(self.input, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.job["scripts"][name])
        return path

    def clone(self):
        repository = self.job["repository"]
        return self.start(["/bin/sh", self.script("repository.sh"), repository["url"], repository["revision"]])

    def place_files(self):
        words = []
        for index, name in enumerate(self.job["files"]):
            self.server.fetch(index, os.path.join(self.input, str(index)), self.is_unwanted)
            words += [str(index), name]
        return self.start(["/bin/sh", self.script("files.sh"), self.input, *words])

    def is_unwanted(self):
        return self.attempt.canceled or self.attempt.refused

    def build(self):
        if self.kept is not None and self.job["shares_environment"]:
            try:
                return self.use_kept()
            except OSError as error:
                self.say(f"Virtualenvs cannot be kept on {platform.node()}: {error}")
        return self.build_at(os.path.join(self.folder, "venv"), self.work)

    def use_kept(self):
        """Uses a virtualenv that an earlier job has built, or builds it. One runner builds while the others wait."""
        venv = self.kept.place(self.job["team"], self.environment_key())
        is_own = False
        while not self.attempt.canceled:
            if self.kept.uses(venv):
                self.python = os.path.join(venv, "bin", "python")
                if not is_own:
                    self.say("Using a virtualenv that an earlier job built")
                return 0
            with self.kept.building(venv) as is_mine:
                if is_mine:
                    code = self.build_kept(venv)
                    if code != 0:
                        return code
                    is_own = True
            if not is_own:
                time.sleep(0.2)
        return 143

    def build_kept(self, venv):
        # What an interrupted build left. A virtualenv cannot be moved: its programs contain its path.
        shutil.rmtree(venv, ignore_errors=True)
        clean = os.path.join(self.folder, "build")
        os.makedirs(clean, 0o700, exist_ok=True)
        code = self.build_at(venv, clean)
        if code == 0:
            self.kept.note_ready(venv)
        return code

    def environment_key(self):
        """A hash of everything that a build gets, and of where it runs."""
        place = [os.path.realpath(self.python), self.version_of(self.python), platform.machine(), *platform.libc_ver()]
        whose = [self.job["team"], self.job["person"]]
        settings = sorted(self.build_variables().items())
        parts = [place, whose, settings, self.job["requirements"], shutil.which("uv") or ""]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]

    def build_variables(self):
        own = {name: value for name, value in os.environ.items() if name.upper().startswith(BUILD_VARIABLES)}
        return {**own, **self.job["build_variables"]}

    def build_at(self, venv, folder):
        requirements = os.path.join(self.input, "requirements.txt")
        with open(requirements, "w", encoding="utf-8") as file:
            file.write(self.job["requirements"] + "\n")
        self.script("pip-settings.py")
        own = {"LANG": "C.UTF-8", "PATH": self.path(), "HOME": self.folder}
        marks = {name: self.job["environment"][name] for name in ("MILLRACE_JOB_ID", "MILLRACE_ATTEMPT")}
        environment = {**own, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **self.build_variables(), **marks}
        self.say(f"Building virtualenv with Python {self.version_of(self.python)}")
        words = ["/bin/sh", self.script("build.sh"), venv, self.python, requirements, shutil.which("uv") or "", "", ""]
        code = self.start(words, environment, folder)
        self.python = os.path.join(venv, "bin", "python")
        return code

    def query(self):
        query = self.job["query"]
        if query["text"] is not None:
            path = os.path.join(self.work, query["filename"])
            if os.path.lexists(path):
                os.remove(path)
            with open(path, "w", encoding="utf-8") as file:
                file.write(query["text"])
            os.chmod(path, 0o700)
        else:
            self.script("repository-script.sh")
        words = [self.python if word is None else word for word in query["command"]]
        return self.start([word.replace("{input}", self.input) for word in words])

    def metrics_file(self):
        return os.path.join(self.work, ".millrace-metrics.json")

    def metrics(self):
        try:
            handle = os.open(self.metrics_file(), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as file:
                text = file.read(MOST_METRICS + 1)
            if len(text) > MOST_METRICS:
                return None
            # Python reads NaN and Infinity, which are not JSON; as on the server's own machine, such metrics do not count.
            value = json.loads(text, parse_constant=not_json)
            return value if isinstance(value, dict) else None
        except (OSError, ValueError, RecursionError):
            return None


def not_json(name):
    raise ValueError(f"{name} is not JSON")


def main():
    url, key, code = (os.environ.pop(f"MILLRACE_RUNNER_{name}", "") for name in ("URL", "KEY", "CODE"))
    if not url or not key or not code:
        print("MILLRACE_RUNNER_URL, MILLRACE_RUNNER_KEY and MILLRACE_RUNNER_CODE must be set.", file=sys.stderr)
        return CANNOT_RUN
    server = Server(url, key)
    server.secret = code
    instance = {"instance": str(uuid.uuid4()), "host": platform.node(), "python": platform.python_version()}
    try:
        job = server.call("claim", instance, seconds=MOST_UNCLAIMED)
    except Refused as refusal:
        print(f"The server gives this runner nothing to run: {refusal}", file=sys.stderr)
        return REFUSED
    except TimeoutError as error:
        print(f"The server could not be reached, so this runner gives up: {error}", file=sys.stderr)
        return CANNOT_RUN
    server.secret = job.pop("token")
    folder = tempfile.mkdtemp(prefix="millrace-", dir=os.environ.get("MILLRACE_RUNNER_FOLDER") or None)
    try:
        runner = Runner(server, job, folder)
        code = runner.run()
        runner.tidy()
        return code
    except Refused as refusal:
        print(f"The server no longer wants this attempt: {refusal}", file=sys.stderr)
        return REFUSED
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
