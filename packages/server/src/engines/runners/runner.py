"""
Runs one attempt of a job on a machine that is not the server's. An engine (Slurm, Kubernetes, Ray) places this file
there. It claims the attempt from the server with a code that works once, gets the job in the answer, runs its phases,
sends its log, and reports how it ended. The protocol is described in docs/engines.md.

It needs Python 3.9 or newer and nothing else. It is started with three variables: MILLRACE_RUNNER_URL (the server),
MILLRACE_RUNNER_KEY (the attempt) and MILLRACE_RUNNER_CODE. Two more are optional: MILLRACE_RUNNER_FOLDER (where the
folder of the job is made) and MILLRACE_RUNNER_ENVIRONMENTS (where virtualenvs are kept for later jobs, with
MILLRACE_RUNNER_KEPT_DAYS and MILLRACE_RUNNER_KEPT_BYTES). If the server is away, it goes on: the log is a file here, and
what could not be sent is sent later.

A job may end in a moment, and then starting this file is most of the work. So at the beginning it imports only modules
that are compiled into Python or nearly so: `socket`, `threading`, `subprocess`, `json` and `urllib` together take five
times as long as Python itself. What some jobs need is imported where they need it.
"""

import _signal
import _socket
import _thread
import errno
import fcntl
import os
import resource
import select
import stat
import sys
import time

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
PIECE = 2 * 1024 * 1024
SMALLEST_PIECE = 1024
# A connection that was not used for this many seconds is not used again: the server may be about to close it.
IDLE = 2
# The most bytes of an answer, except for files.
MOST_ANSWER = 64 * 1024 * 1024
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
        is_own = "code" in loads(text)
    except (ValueError, TypeError):
        is_own = False
    if not is_own or status >= 500 or status in (408, 429):
        return None
    return Refused(status, text) if status in (401, 404, 409, 410) else Rejected(f"{status} {text}")


def json_words():
    """Returns functions like json.dumps and json.loads. They are those of `json`, without what it imports."""
    try:
        from _json import encode_basestring_ascii, make_scanner
    except ImportError:
        import json

        return json.dumps, json.loads

    class Context:
        strict, object_hook, object_pairs_hook = True, None, None
        parse_float, parse_int, parse_constant = float, int, float

    scan = make_scanner(Context())

    def loads(text):
        try:
            return scan(text if isinstance(text, str) else text.decode(), 0)[0]
        except StopIteration:
            raise ValueError("the answer is not JSON") from None

    def dumps(value):
        if isinstance(value, str):
            return encode_basestring_ascii(value)
        if isinstance(value, dict):
            return "{%s}" % ",".join(f"{dumps(name)}:{dumps(inner)}" for name, inner in value.items())
        if isinstance(value, (list, tuple)):
            return "[%s]" % ",".join(map(dumps, value))
        return "null" if value is None else repr(value).lower()

    return dumps, loads


dumps, loads = json_words()


class Url:
    """The parts of an HTTP URL."""

    def __init__(self, text):
        self.scheme, _, rest = text.partition("://")
        authority, _, path = rest.partition("/")
        self.user, _, self.authority = authority.rpartition("@")
        host, _, port = self.authority[1:].partition("]") if self.authority[:1] == "[" else self.authority.partition(":")
        self.host, self.port = host, int(port.lstrip(":") or (443 if self.scheme == "https" else 80))
        self.path = ("/" + path).rstrip("/")


def proxy_for(url):
    """Returns the proxy through which the machine wants the server to be reached, None if there is none."""
    if not any(name.lower() in (url.scheme + "_proxy", "all_proxy") for name in os.environ):
        return None
    from urllib.request import getproxies, proxy_bypass

    proxies = {} if proxy_bypass(url.host) else getproxies()
    found = proxies.get(url.scheme) or proxies.get("all") or ""
    proxy = Url(found if "://" in found else "http://" + found)
    # A proxy that speaks something else, such as SOCKS, is not used.
    return proxy if proxy.host and proxy.scheme == "http" else None


def basic(user):
    """Returns the header for a proxy that wants a name and a password."""
    from base64 import b64encode
    from urllib.parse import unquote

    return f"proxy-authorization: Basic {b64encode(unquote(user).encode()).decode()}\r\n" if user else ""


def connected(url):
    """Returns a socket that is connected to the host of a URL."""
    # As bytes: the modules for names with other letters are large.
    name = url.host.encode() if url.host.isascii() else url.host.encode("idna")
    problem = OSError(f"{url.host} has no address")
    for family, kind, protocol, _, address in _socket.getaddrinfo(name, url.port, 0, _socket.SOCK_STREAM):
        found = _socket.socket(family, kind, protocol)
        try:
            found.settimeout(PATIENCE)
            found.connect(address)
            found.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            return found
        except OSError as error:
            found.close()
            problem = error
    raise problem


class Piece:
    """A part of the log, as the body of a request. The log may have become shorter when it is sent."""

    def __init__(self, file, offset, size):
        self.file, self.offset, self.most = file, offset, size

    def size(self):
        return max(0, min(self.most, os.fstat(self.file).st_size - self.offset))


class Connection:
    """A connection to the server, for one request after another. It speaks as much of HTTP/1.1 as that needs."""

    def __init__(self, url, proxy, context):
        self.socket = connected(proxy or url)
        self.rest = b""
        self.is_open = True
        if context is not None:
            if proxy is not None:
                self.open_tunnel(url, proxy)
            self.encrypt(url, context)
        # Whether the kernel can send a file over it.
        self.sends_files = context is None

    def open_tunnel(self, url, proxy):
        target = f"{url.host}:{url.port}" if ":" not in url.host else f"[{url.host}]:{url.port}"
        self.socket.sendall(f"CONNECT {target} HTTP/1.1\r\nhost: {target}\r\n{basic(proxy.user)}\r\n".encode())
        status, _ = self.read_head()
        if status != 200:
            raise OSError(f"the proxy answered {status}")

    def encrypt(self, url, context):
        from socket import socket

        raw = socket(fileno=self.socket.detach())
        raw.settimeout(PATIENCE)
        self.socket = context.wrap_socket(raw, server_hostname=url.host)

    def ask(self, head, body):
        """Sends a request and returns the status and the headers of the answer. Its body is to be read then."""
        if isinstance(body, Piece):
            size = body.size()
            self.socket.sendall(f"{head}content-length: {size}\r\n\r\n".encode())
            self.send_piece(body.file, body.offset, size)
        else:
            self.socket.sendall(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
        status, headers = self.read_head()
        while 100 <= status < 200:
            status, headers = self.read_head()
        return status, headers

    def send_piece(self, file, offset, size):
        while size > 0:
            sent = self.send_some(file, offset, size)
            if sent == 0:
                raise OSError("the log became shorter")
            offset, size = offset + sent, size - sent

    def send_some(self, file, offset, size):
        if not self.sends_files:
            some = os.pread(file, min(size, 256 * 1024), offset)
            self.socket.sendall(some)
            return len(some)
        try:
            return os.sendfile(self.socket.fileno(), file, offset, size)
        except BlockingIOError:
            self.wait_to_send()
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
            self.sends_files = False  # The file system of the log cannot do it.
        return self.send_some(file, offset, size)

    def wait_to_send(self):
        """Waits until the server has read something. A socket with a time limit does not wait by itself."""
        waiting = select.poll()
        waiting.register(self.socket.fileno(), select.POLLOUT)
        if not waiting.poll(PATIENCE * 1000):
            raise TimeoutError("the server does not read")

    def more(self):
        some = self.socket.recv(65536)
        if not some:
            raise OSError("the connection was closed in the middle of an answer")
        return some

    def read_until(self, mark):
        while mark not in self.rest:
            if len(self.rest) > 65536:
                raise ValueError("the head of an answer is too long")
            self.rest += self.more()
        before, _, self.rest = self.rest.partition(mark)
        return before.decode("latin-1")

    def read_head(self):
        first, *lines = self.read_until(b"\r\n\r\n").split("\r\n")
        version, status, *_ = first.split(" ")
        pairs = (line.partition(":") for line in lines)
        headers = {name.strip().lower(): value.strip().lower() for name, _, value in pairs}
        self.is_open = version == "HTTP/1.1" and headers.get("connection") != "close"
        return int(status), headers

    def body(self, headers):
        """Returns the body of an answer, in parts. Raises OSError if it is cut."""
        if "chunked" in headers.get("transfer-encoding", ""):
            size = int(self.read_until(b"\r\n").partition(";")[0], 16)
            while size > 0:
                yield from self.read(size)
                self.read_until(b"\r\n")
                size = int(self.read_until(b"\r\n").partition(";")[0], 16)
            while self.read_until(b"\r\n") != "":
                pass
        elif "content-length" in headers:
            yield from self.read(int(headers["content-length"]))
        else:
            self.is_open = False
            yield self.rest
            some = self.socket.recv(65536)
            while some:
                yield some
                some = self.socket.recv(65536)

    def read(self, size):
        while size > 0:
            some, self.rest = self.rest[:size] or self.more(), self.rest[size:]
            if len(some) > size:
                some, self.rest = some[:size], some[size:]
            size -= len(some)
            yield some

    def close(self):
        self.is_open = False
        self.socket.close()


class Failed(Exception):
    """The server, or something in its place, answered with an error."""

    def __init__(self, status, text):
        super().__init__(f"{status} {text}")
        self.status, self.text = status, text


class Server:
    """Sends requests to the server, again and again while it cannot be reached."""

    def __init__(self, url, key):
        self.root, self.url = url, Url(url)
        self.key = key
        self.secret = ""
        self.proxy = proxy_for(self.url)
        self.context = None
        if self.url.scheme == "https":
            from ssl import create_default_context

            self.context = create_default_context()
        # Connections that no request uses, and since when.
        self.idle = []

    def call(self, name, body, query="", tries=None, seconds=None):
        """
        Returns the answer as an object. Raises Refused if the server says that there is nothing to do here, and
        TimeoutError after so many tries or seconds without an answer.
        """
        left, began = [tries], time.monotonic()

        def gives_up():
            left[0] = left[0] and left[0] - 1
            return left[0] == 0 or (seconds is not None and time.monotonic() - began > seconds)

        return self.repeat(lambda: self.send(name, body, query), gives_up)

    def repeat(self, request, gives_up):
        """Repeats a request until it is answered in full. An answer may be cut in the middle."""
        pause = 0.2
        while True:
            try:
                return request()
            except Failed as error:
                text = error.text
                refusal = refusal_in(error.status, text)
                if refusal is not None:
                    raise refusal from None
            except (OSError, ValueError) as error:
                text = str(error)
            if gives_up():
                raise TimeoutError(text)
            time.sleep(pause)
            pause = min(pause * 2, 10)

    def send(self, name, body, query):
        raw = isinstance(body, Piece)
        kind = "application/octet-stream" if raw else "application/json"
        head = self.head("POST", name, query) + f"content-type: {kind}\r\n"
        return self.exchange(head, body if raw else dumps(body).encode(), lambda parts, _: loads(whole(parts)))

    def head(self, method, name, query):
        path = f"{self.url.path}/api/runner/{name}?key={self.key}{query}"
        extra = ""
        if self.proxy is not None and self.context is None:
            path = f"http://{self.url.authority}{path}"
            extra = basic(self.proxy.user)
        host = f"host: {self.url.authority}\r\n"
        return f"{method} {path} HTTP/1.1\r\n{host}authorization: Bearer {self.secret}\r\n{extra}"

    def exchange(self, head, body, receive):
        """Sends a request. Returns what `receive` makes of the parts of the answer's body and of its headers."""
        kept = self.take_idle()
        if kept is not None:
            try:
                return self.exchange_over(kept, head, body, receive)
            except OSError:
                pass  # The server has closed it meanwhile. Every request may be repeated.
        return self.exchange_over(Connection(self.url, self.proxy, self.context), head, body, receive)

    def exchange_over(self, connection, head, body, receive):
        try:
            status, headers = connection.ask(head, body)
            parts = connection.body(headers)
            if status != 200:
                raise Failed(status, self.error_in(connection, parts))
            return receive(parts, headers)
        except Failed:
            raise
        except BaseException:
            connection.close()
            raise
        finally:
            if connection.is_open:
                self.idle.append((connection, time.monotonic()))

    def error_in(self, connection, parts):
        """Returns the text of an answer with an error. The status counts also if the text is cut."""
        try:
            return whole(parts)[:4096].decode("utf-8", "replace")
        except (OSError, ValueError) as cut:
            connection.close()
            return str(cut)

    def take_idle(self):
        while self.idle:
            try:
                connection, since = self.idle.pop()
            except IndexError:
                break  # Another thread was faster.
            if time.monotonic() - since < IDLE:
                return connection
            connection.close()
        return None

    def fetch(self, index, path, gives_up):
        """Writes an attached file of the job to `path`, from its beginning each time."""
        self.repeat(lambda: self.copy(index, path), gives_up)

    def copy(self, index, path):
        def write(parts, headers):
            with open(path, "wb") as file:
                file.writelines(parts)
                size = headers.get("content-length")
                if size is not None and int(size) != file.tell():
                    raise OSError(f"the file has {size} bytes, and {file.tell()} arrived")

        self.exchange(self.head("GET", "file", f"&index={index}"), b"", write)


def whole(parts):
    """Returns the parts of a body as one."""
    found, size = [], 0
    for part in parts:
        size += len(part)
        if size > MOST_ANSWER:
            raise ValueError("the answer is too long")
        found.append(part)
    return b"".join(found)


class Processes:
    """The processes of the job: everything that descends from this process, also what lost its parent."""

    SUBREAPER = 36

    def __init__(self):
        # Processes and threads at the last sample.
        self.tasks = 0
        order = (self.SUBREAPER, 1, 0, 0, 0)
        try:
            # The part of `ctypes` that is compiled into Python.
            from _ctypes import call_cdeclfunction, dlopen, dlsym

            call_cdeclfunction(dlsym(dlopen(None, 0), "prctl"), order)
        except ImportError:
            import ctypes

            ctypes.CDLL(None).prctl(*order)

    def are_left(self):
        """Returns whether there are processes of the job. Those that lost their parent are children of this one."""
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            return True
        except ChildProcessError:
            return False

    def stats(self):
        """Returns the fields of /proc/PID/stat, from the state on, of every process of the job, by pid."""
        stats, children = {}, {}
        if not self.are_left():
            return stats
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
        self.reap()
        while self.are_left():
            self.signal(_signal.SIGKILL)
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
        return resident(pid)  # A process may forbid others to look closely.


def resident(pid):
    try:
        with open(f"/proc/{pid}/statm", encoding="latin-1") as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0  # It has ended.


class Event:
    """Something that happens once, and for which threads wait."""

    def __init__(self):
        self.happened = False
        self.gate = _thread.allocate_lock()
        self.gate.acquire()

    def is_set(self):
        return self.happened

    def set(self):
        if not self.happened:
            self.happened = True
            self.gate.release()

    def wait(self, seconds=-1):
        """Waits, at most this many seconds. Returns whether it has happened."""
        if not self.happened and self.gate.acquire(timeout=seconds):
            self.gate.release()
        return self.happened


class Attempt:
    """What the threads of the runner share. `lock` guards the steps and the orders."""

    def __init__(self):
        self.lock = _thread.allocate_lock()
        self.steps = []
        self.canceled = False
        self.forced = False
        self.usage = None
        # The limit that ended the job: memory, processes, disk, log or lease.
        self.over_limit = None
        self.refused = False
        self.over = Event()
        self.log_done = Event()
        self.began = self.heard = time.monotonic()


class LogSender:
    """
    Sends the log as it grows. After the end of the job it sends the rest, however long the server is away. What is
    beyond the limit of the log is not sent.
    """

    def __init__(self, server, path, attempt, limit):
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
            with open(self.path, "rb", buffering=0) as file:
                while self.pass_on(file.fileno()):
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
        size = min(self.piece, self.size() - self.offset)
        if size > 0:
            self.offset = self.accepted(Piece(file, self.offset, size))
        elif over:
            return False
        else:
            self.attempt.over.wait(0.1)
        return True

    def accepted(self, piece):
        try:
            return self.server.call("log", piece, f"&offset={self.offset}")["size"]
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


class Watch:
    """Samples what the job uses, and ends it if it exceeds a limit, or if its server was not heard for its lease."""

    def __init__(self, attempt, processes, job, folder, sender):
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
                self.processes.signal(_signal.SIGKILL)

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

    def begins(self, venv):
        """Returns the lock of a virtualenv that the caller is to build; None if somebody builds it, or if it is ready."""
        lock = locked(venv + ".lock", fcntl.LOCK_EX)
        if lock is not None and os.path.exists(venv + ".ready"):
            lock.close()
            return None
        return lock

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
        import re

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
                try:
                    os.remove(venv + name)
                except FileNotFoundError:
                    pass
            remove(venv)
            os.remove(venv + ".lock")


class Packs:
    """
    Virtualenvs that are packed on the server. A script of the server does the work, in a process of its own that can be
    canceled. With the ticket one pack can be stored; it is forgotten before the code of the job starts.
    """

    def __init__(self, runner, ticket):
        self.runner, self.ticket = runner, ticket
        self.python, self.environment = runner.python, runner.environment_key()

    def fetch(self, venv):
        return self.run("fetch", venv, {}) == 0

    def store(self, venv):
        # Nothing may change the virtualenv while it is packed.
        self.runner.processes.kill_all()
        self.run("store", venv, {"ticket": self.ticket})

    def run(self, what, venv, more):
        try:
            return self.start(what, venv, more)
        except OSError as error:
            self.runner.say(f"The pack of this virtualenv cannot be used: {error}")
            return 1

    def start(self, what, venv, more):
        runner = self.runner
        own = {"url": runner.server.root, "key": runner.server.key, "token": runner.server.secret}
        settings = {**own, "environment": self.environment, "venv": venv, "python": self.python}
        path = os.path.join(runner.input, "pack.json")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(dumps({**settings, **more}))
        words = [sys.executable, "-I", runner.script("packs.py"), what, path]
        return runner.start(words, {**os.environ, **runner.marks()}, runner.input)


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
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
        # Who removes a virtualenv removes its lock as well; then this file is the lock of nothing.
        if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    file.close()
    return None


def satisfies(version, wanted):
    """Tells whether a version of Python is the one that is wanted: `3.12`, or conditions such as `>=3.10,<3.13`."""
    return all(meets(version, condition.strip()) for condition in wanted.split(","))


def meets(version, condition):
    import re

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
    import re

    parts = [int(re.match(r"\d*", part)[0] or 0) for part in version.split(".")]
    return parts + [0] * (8 - len(parts))


class Beats:
    """Tells the server that the attempt is alive, and obeys its orders. The server answers a beat when there is one."""

    def __init__(self, server, attempt, processes):
        self.server, self.attempt, self.processes = server, attempt, processes
        self.has_begun = False

    def run(self):
        # The server has just heard this runner. A job that ends at once needs no beat.
        self.attempt.over.wait(STEP)
        while not self.attempt.over.is_set():
            try:
                self.beat(wait=True)
            except Refused:
                self.attempt.refused = True
                self.processes.signal(_signal.SIGKILL)
                return
            except Exception:
                self.attempt.over.wait(1)

    def beat(self, wait):
        with self.attempt.lock:
            self.has_begun = True
            steps = list(self.attempt.steps)
            orders = {"cancel": self.attempt.canceled, "force": self.attempt.forced}
        sent = time.monotonic()
        body = {"steps": steps, "age": sent - self.attempt.began, "orders": orders, "wait": wait}
        self.obey(self.server.call("beat", {**body, "usage": self.attempt.usage}, tries=1))
        # The server counts from when it heard this beat, so this runner gives up before the server does.
        self.attempt.heard = max(self.attempt.heard, sent)

    def tell_step(self):
        """Tells of a new step beside the beat that waits for orders. A job that ends at once need not tell."""
        if not self.has_begun:
            return  # The first beat tells it.

        def tell():
            if not self.attempt.over.wait(STEP):
                try:
                    self.beat(wait=False)
                except Exception:
                    pass  # The next beat tells it.

        _thread.start_new_thread(tell, ())

    def obey(self, orders):
        with self.attempt.lock:
            asks = orders["cancel"] and not self.attempt.canceled
            self.attempt.canceled |= orders["cancel"]
            self.attempt.forced |= orders["force"]
        if self.attempt.forced:
            self.processes.signal(_signal.SIGKILL)
        elif asks:
            self.processes.signal(_signal.SIGTERM)


def now():
    return int(time.time() * 1000)


class Runner:
    # The threads beside the job, and whether they have been started.
    helpers = ()
    has_helpers = False

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
        self.ticket = job.pop("pack_ticket", None)

    def run(self):
        for path in (self.work, self.input):
            os.mkdir(path, 0o700)
        limits = self.job["limits"]
        limit_open_files(limits.get("open_files", 0))
        sender = LogSender(self.server, self.log, self.attempt, limits.get("log", 0))
        watch = Watch(self.attempt, self.processes, self.job, self.folder, sender)
        _signal.signal(_signal.SIGTERM, lambda *_: _thread.start_new_thread(self.leave, ()))
        self.helpers = [sender, self.beats, watch]
        # The job may have been canceled while this runner waited for its place.
        self.beats.obey(self.job["orders"])
        code, phase = self.run_phases()
        finished = now()
        usage = self.processes.usage()
        self.processes.kill_all()
        self.attempt.over.set()
        self.start_helpers()
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

    def start_helpers(self):
        """Starts the threads that send the log, beat and sample. A job that is only a script starts before them."""
        if not self.has_helpers:
            self.has_helpers = True
            for helper in self.helpers:
                _thread.start_new_thread(helper.run, ())

    def tidy(self):
        """Removes old virtualenvs, after the end was reported: nobody waits for it."""
        if self.kept is not None and self.job["requirements"] is not None:
            try:
                self.kept.sweep()
            except OSError:
                pass  # The next runner tries again.

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
            except (Rejected, RecursionError):
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
        own = [
            ("repository", self.job["repository"] is not None, self.clone),
            ("files", bool(self.job["files"]), self.place_files),
        ]
        build = ("environment", self.job["requirements"] is not None, self.build)
        # What others may use comes before everything of the job: its variables can make a clone run its code.
        before = [build, *own] if self.job["shares_environment"] else [*own, build]
        phases = [*before, ("query", True, self.query)]
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
            if name != "query":
                self.start_helpers()
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
        own = own_version()
        if wanted is None or satisfies(own, wanted):
            return sys.executable
        # Asking each of them may take long, and the server is to hear of this runner meanwhile.
        self.start_helpers()
        found = {self.version_of(path): path for path in self.pythons()}
        newest = sorted(filter(None, {*found, own}), key=numbers, reverse=True)
        chosen = next((version for version in newest if satisfies(version, wanted)), None)
        if chosen is not None:
            return found[chosen]
        raise LookupError(
            f"Python {wanted} is not installed on {os.uname().nodename}. Installed versions: {', '.join(newest)}."
        )

    def pythons(self):
        from shutil import which

        names = ["python3", *(f"python3.{minor}" for minor in range(40))]
        return [path for path in map(which, names) if path]

    def version_of(self, python):
        import subprocess

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
        try:
            with open(self.log, "ab") as file:
                file.write(text.encode("utf-8", "replace") + b"\n")
        except OSError:
            pass

    def start(self, words, environment=None, folder=None):
        """Runs a command in the working folder, with its output in the log. Returns 128 + n if signal n ended it."""
        environment = self.environment() if environment is None else environment
        # A process can only be forked safely while there are no threads.
        start = self.popen if self.has_helpers else self.fork
        child = start(words, environment, folder or self.work)
        self.start_helpers()
        # An order that came while the process was being started has not reached it.
        if self.attempt.forced:
            self.processes.signal(_signal.SIGKILL)
        elif self.attempt.canceled:
            os.kill(child, _signal.SIGTERM)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code if code >= 0 else 128 - code

    def fork(self, words, environment, folder):
        # A signal that reaches the new process before it is the command waits until it can end it.
        blocked = _signal.pthread_sigmask(_signal.SIG_BLOCK, {_signal.SIGTERM})
        child = os.fork()
        if child == 0:
            become(words, environment, folder, self.log)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, blocked)
        return child

    def popen(self, words, environment, folder):
        import subprocess

        with open(self.log, "ab") as log:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log}
            child = subprocess.Popen(words, env=environment, cwd=folder, start_new_session=True, **pipes)
        child.returncode = 0  # It is waited for by its pid.
        return child.pid

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
        try:
            return self.build_or_use()
        finally:
            # The code of the job must not get it.
            self.ticket = None

    def build_or_use(self):
        if self.kept is not None and self.job["shares_environment"]:
            try:
                return self.use_kept()
            except OSError as error:
                self.say(f"Virtualenvs cannot be kept on {os.uname().nodename}: {error}")
        venv = os.path.join(self.folder, "venv")
        return self.build_at(venv, self.work) if self.ticket is None else self.obtain(venv)

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
            lock = self.kept.begins(venv)
            if lock is None:
                time.sleep(0.2)
                continue
            with lock:
                code = self.build_kept(venv)
            if code != 0:
                return code
            is_own = True
        return 143

    def build_kept(self, venv):
        # What an interrupted build left. A virtualenv cannot be moved: its programs contain its path.
        remove(venv)
        code = self.obtain(venv)
        if code == 0:
            self.kept.note_ready(venv)
        return code

    def obtain(self, venv):
        """Fetches the pack of a virtualenv that others may use. If there is none, builds it, and packs it."""
        packs = None if self.ticket is None else Packs(self, self.ticket)
        if packs is not None and packs.fetch(venv):
            self.say("Using a packed virtualenv that an earlier job built")
            self.python = os.path.join(venv, "bin", "python")
            return 0
        clean = os.path.join(self.folder, "build")
        os.makedirs(clean, 0o700, exist_ok=True)
        code = self.build_at(venv, clean)
        if packs is not None and code == 0 and not self.attempt.canceled:
            packs.store(venv)
        return code

    def environment_key(self):
        """A hash of everything that a build gets, and of where it runs."""
        import hashlib
        import json
        import platform

        place = [os.path.realpath(self.python), self.version_of(self.python), platform.machine(), *platform.libc_ver()]
        whose = [self.job["team"], self.job["person"]]
        settings = sorted(self.build_variables().items())
        parts = [place, whose, settings, self.job["requirements"], self.uv()]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:40]

    def uv(self):
        from shutil import which

        return which("uv") or ""

    def marks(self):
        """Variables by which the processes of a job are found."""
        return {name: self.job["environment"][name] for name in ("MILLRACE_JOB_ID", "MILLRACE_ATTEMPT")}

    def build_variables(self):
        own = {name: value for name, value in os.environ.items() if name.upper().startswith(BUILD_VARIABLES)}
        return {**own, **self.job["build_variables"]}

    def build_at(self, venv, folder):
        requirements = os.path.join(self.input, "requirements.txt")
        with open(requirements, "w", encoding="utf-8") as file:
            file.write(self.job["requirements"] + "\n")
        self.script("pip-settings.py")
        own = {"LANG": "C.UTF-8", "PATH": self.path(), "HOME": self.folder}
        environment = {**own, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **self.build_variables(), **self.marks()}
        self.say(f"Building virtualenv with Python {self.version_of(self.python)}")
        words = ["/bin/sh", self.script("build.sh"), venv, self.python, requirements, self.uv(), "", ""]
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
            import json

            # Python reads NaN and Infinity, which are not JSON; as on the server's own machine, such metrics do not count.
            value = json.loads(text, parse_constant=not_json)
            return value if isinstance(value, dict) else None
        except (OSError, ValueError, RecursionError):
            return None


def not_json(name):
    raise ValueError(f"{name} is not JSON")


def own_version():
    return sys.version.split()[0]


def program_of(name, environment):
    """Returns the path of a program, which is looked for in the PATH that it will have."""
    paths = [] if "/" in name else environment.get("PATH", os.defpath).split(os.pathsep)
    found = (os.path.join(path, name) for path in paths)
    return next((path for path in found if os.access(path, os.X_OK)), name)


def become(words, environment, folder, log):
    """Turns this process, which was just forked, into a command with its output in the log."""
    try:
        os.setsid()
        # No signal is ignored: Python ignores some, and a cluster may have started the runner with others ignored.
        for number in _signal.valid_signals() - {_signal.SIGKILL, _signal.SIGSTOP}:
            _signal.signal(number, _signal.SIG_DFL)
        _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND), 1)
        os.dup2(1, 2)
        os.chdir(folder)
        os.execve(program_of(words[0], environment), words, environment)
    except Exception as error:
        os.write(2, f"{type(error).__name__}: {error}\n".encode("utf-8", "replace"))
    finally:
        os._exit(1)


def keep_descriptors():
    """Keeps what this process has inherited from its cluster from the job: open files other than the usual three."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2:
                os.set_inheritable(int(name), False)
        except OSError:
            pass  # That of the list itself.


def make_folder():
    """Makes the folder of the job, where temporary files belong unless the cluster names a place."""
    given = os.environ.get("MILLRACE_RUNNER_FOLDER")
    usual = [os.environ.get("TMPDIR"), "/tmp", "/var/tmp", os.getcwd()]
    problem = None
    for parent in [given] if given else filter(None, usual):
        path = os.path.join(os.path.abspath(parent), "millrace-" + os.urandom(8).hex())
        try:
            os.mkdir(path, 0o700)
            return path
        except OSError as error:
            problem = problem or error
    raise problem


def remove(folder):
    """
    Removes a folder and what it holds, without following links. A job may have nested folders so deeply that their
    paths are too long, or made them read-only: each is brought up to the first one before it is looked into.
    """
    if os.path.islink(folder):
        attempted(os.unlink, folder)
        return
    name, count, waiting = os.path.join(folder, "." + os.urandom(8).hex()), 0, [folder]
    while waiting:
        current = waiting.pop()
        for entry in entries(current):
            if os.path.islink(entry) or not os.path.isdir(entry):
                attempted(os.unlink, entry)
                continue
            attempted(os.chmod, entry, 0o700)
            if current != folder and attempted(os.rename, entry, f"{name}-{count}"):
                entry, count = f"{name}-{count}", count + 1
            waiting.append(entry)
        if current != folder:
            attempted(os.rmdir, current)
    attempted(os.rmdir, folder)


def attempted(do, *values):
    try:
        do(*values)
        return True
    except OSError:
        return False


def main():
    keep_descriptors()
    url, key, code = (os.environ.pop(f"MILLRACE_RUNNER_{name}", "") for name in ("URL", "KEY", "CODE"))
    if not url or not key or not code:
        print("MILLRACE_RUNNER_URL, MILLRACE_RUNNER_KEY and MILLRACE_RUNNER_CODE must be set.", file=sys.stderr)
        return CANNOT_RUN
    server = Server(url, key)
    server.secret = code
    instance = {"instance": os.urandom(16).hex(), "host": os.uname().nodename, "python": own_version()}
    try:
        job = server.call("claim", instance, seconds=MOST_UNCLAIMED)
    except Refused as refusal:
        print(f"The server gives this runner nothing to run: {refusal}", file=sys.stderr)
        return REFUSED
    except TimeoutError as error:
        print(f"The server could not be reached, so this runner gives up: {error}", file=sys.stderr)
        return CANNOT_RUN
    server.secret = job.pop("token")
    folder = make_folder()
    try:
        runner = Runner(server, job, folder)
        code = runner.run()
        runner.tidy()
        return code
    except Refused as refusal:
        print(f"The server no longer wants this attempt: {refusal}", file=sys.stderr)
        return REFUSED
    finally:
        os.chdir("/")
        remove(folder)


if __name__ == "__main__":
    code = 1
    try:
        code = main()
    except BaseException:
        import traceback

        traceback.print_exc()
    # Without the rest of an ordinary exit: there is nothing left to do, and threads may wait for a server.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
