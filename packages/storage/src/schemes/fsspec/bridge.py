"""The Python side of the fsspec bridge: answers requests from standard input, each in a thread."""

import json
import os
import signal
import sys
import threading
import traceback

# Imports the bridge's own modules from the folder of this file, without writing bytecode there. Afterwards, the folder
# is removed from the search path.
here = os.path.dirname(os.path.abspath(__file__))
others = [folder for folder in sys.path if os.path.abspath(folder) != here]
writes_nothing = sys.dont_write_bytecode
sys.path[:] = [here, *others]
sys.dont_write_bytecode = True

from bridge_files import ACTIONS  # noqa: E402
from bridge_place import Place  # noqa: E402
from bridge_wire import ERROR, HEADER, LONGEST_FRAME, REQUEST, RESULT, Buffered, Call, Cancelled, Output  # noqa: E402

sys.path[:] = others
sys.dont_write_bytecode = writes_nothing

# Errors about a single file: the file system that raised one of them can still be used.
ABOUT_FILES = (FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError, PermissionError)


def describe(error):
    """Describes an exception for the Node side: its class, its base classes, and its message."""
    types = [kind.__name__ for kind in type(error).__mro__ if kind not in (object, BaseException, Exception)]
    text = os.strerror(error.errno) if isinstance(error, OSError) and error.errno and not str(error) else str(error)
    missing = [kind.name for kind in (error, error.__cause__) if isinstance(kind, ImportError) and kind.name]
    module = missing[-1].split(".")[0] if missing else None
    return {"types": types or [type(error).__name__], "message": text[:4000], "module": module}


class Bridge:
    def __init__(self, fsspec):
        self.fsspec = fsspec
        self.output = Output()
        self.buffered = Buffered()
        self.calls = {}
        self.places = {}
        self.lock = threading.Lock()

    def run(self):
        names = sorted({*self.fsspec.available_protocols(), *self.fsspec.registry})
        self.output.send_json(RESULT, 0, {"fsspec": self.fsspec.__version__, "names": names})
        source = sys.stdin.buffer
        while header := source.read(HEADER.size):
            length, kind, number = HEADER.unpack(header)
            if length > LONGEST_FRAME:
                break
            payload = source.read(length)
            if kind == REQUEST:
                self.begin(number, json.loads(payload))
            elif call := self.calls.get(number):
                call.take(kind, payload)

    def begin(self, number, request):
        call = Call(number, self.output, self.buffered)
        with self.lock:
            self.calls[number] = call
        threading.Thread(target=self.answer, args=(call, request), daemon=True).start()

    def answer(self, call, request):
        try:
            result = self.perform(call, request)
            self.output.send_json(RESULT, call.number, result)
        except BaseException as error:
            self.output.send_json(ERROR, call.number, describe(error))
        finally:
            call.drop()
            with self.lock:
                del self.calls[call.number]

    def perform(self, call, request):
        action = request["action"]
        if action == "open":
            return self.open(request)
        if action == "close":
            return self.close(request)
        if action == "buffered":
            return self.buffered.most
        place = self.places[request["place"]]
        fs = place.acquire()
        try:
            result = ACTIONS[action](place, fs, call, request)
        except ABOUT_FILES:
            place.release(fs)
            raise
        except Cancelled:
            place.discard(fs)
            raise
        except BaseException:
            # The idle connections are most likely broken too, so drop them all. Otherwise a call would fail for each of
            # them.
            place.discard(fs)
            place.close_idle()
            raise
        place.release(fs)
        return result

    def open(self, request):
        place = Place(request["url"], request["config"], request["folders"])
        self.places[request["place"]] = place
        return {"parallel": place.shared is not None}

    def close(self, request):
        place = self.places.pop(request["place"], None)
        if place:
            place.close()


def main():
    # Ctrl-C reaches the whole process group: the Node side handles it, and this process exits when its pipe closes.
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    try:
        import fsspec
    except ImportError as error:
        Output().send_json(ERROR, 0, describe(error))
        return
    Bridge(fsspec).run()


try:
    main()
except BrokenPipeError:
    pass
except BaseException:
    traceback.print_exc()
finally:
    sys.stderr.flush()
    # Exits although threads may be in the middle of a long call: nobody waits for the result any more.
    os._exit(0)
