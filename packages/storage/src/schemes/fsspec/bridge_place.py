"""An opened URI in the bridge: its instances of an fsspec file system, and their connections."""

import selectors
import threading


class Place:
    """An opened URI. File systems that are not thread-safe get one instance per concurrent call."""

    def __init__(self, url, config, folders):
        self.url = url
        self.config = config
        self.folders = folders
        self.lock = threading.Lock()
        self.idle = []
        self.closed = False
        fs, root = self.make()
        self.root = root.rstrip("/") if root.strip("/") else root
        self.shared = fs if getattr(fs, "async_impl", False) else None
        self.idle.append(fs)

    def make(self):
        from fsspec.core import url_to_fs

        return url_to_fs(self.url, **{**self.config, "skip_instance_cache": True})

    def acquire(self):
        if self.shared is not None:
            return self.shared
        # The lock makes logins run one after the other, because servers refuse many logins at once.
        with self.lock:
            while (fs := self.take_idle()) is not None:
                if is_connected(fs):
                    return fs
                close_connections(fs)
            return self.make()[0]

    def take_idle(self):
        try:
            return self.idle.pop()
        except IndexError:
            return None

    def release(self, fs):
        if self.shared is None:
            self.idle.append(fs)
        if self.closed:
            self.close_idle()

    def discard(self, fs):
        """Drops an instance whose connection may be lost or may be in an unknown state."""
        if self.shared is None:
            close_connections(fs)

    def close_idle(self):
        """Closes idle instances. Does not take the lock, because a login that hangs may hold it."""
        while self.shared is None and (fs := self.take_idle()) is not None:
            close_connections(fs)

    def close(self):
        self.closed = True
        self.close_idle()

    def path(self, key):
        if key == "":
            return self.root
        return self.root + key if self.root == "" or self.root.endswith("/") else f"{self.root}/{key}"


def is_connected(fs):
    """Returns False if the server has closed the connection. Only for FTP: an idle connection then has unread data."""
    connection = getattr(getattr(fs, "ftp", None), "sock", None)
    if not hasattr(connection, "fileno") or not hasattr(fs.ftp, "voidcmd"):
        return True
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(connection, selectors.EVENT_READ)
            return not selector.select(0)
    except (OSError, ValueError):
        return False


def close_connections(fs):
    """Closes connections. fsspec has no call for it, and garbage collection skips connections with running threads."""
    for owner in (getattr(fs, "ftp", None), getattr(fs, "client", None)):
        close = getattr(owner, "close", None)
        if callable(close):
            try:
                close()
            except Exception:
                pass
