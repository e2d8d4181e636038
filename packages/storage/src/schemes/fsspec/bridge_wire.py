"""Frames between the bridge and the process that started it, and the calls they belong to.

The header of a frame contains a length (4 bytes), a kind (1 byte) and the number of the request (4 bytes), all
big-endian. The length counts the bytes after the header. Every request has a thread. Streams in either direction are
limited by credit: a sender that has used up its credit waits until the other side has taken some bytes. frames.ts is
the other side.
"""

import json
import os
import struct
import threading

REQUEST, DATA, END, CREDIT, CANCEL, RESULT, ERROR, HEAD, PAGE = range(1, 10)
HEADER = struct.Struct(">IBI")
LONGEST_FRAME = 8 * 1024 * 1024
PIECE = 256 * 1024
WINDOW = 4 * PIECE


class Cancelled(Exception):
    pass


class Output:
    """The original standard output of the process. Libraries that print write to standard error instead."""

    def __init__(self):
        self.descriptor = os.dup(1)
        os.dup2(2, 1)
        self.lock = threading.Lock()

    def send(self, kind, number, payload=b""):
        header = HEADER.pack(len(payload), kind, number)
        # A short payload goes into the write of the header; copying a long one would cost more than a second write.
        parts = [header, payload] if len(payload) > 4096 else [header + payload]
        with self.lock:
            for part in parts:
                view = memoryview(part)
                while view:
                    view = view[os.write(self.descriptor, view) :]

    def send_json(self, kind, number, value):
        self.send(kind, number, to_json(value))


class Buffered:
    """Counts upload bytes that wait to be written, and their peak, for tests."""

    def __init__(self):
        self.lock = threading.Lock()
        self.now = self.most = 0

    def add(self, count):
        with self.lock:
            self.now += count
            self.most = max(self.most, self.now)


class Call:
    """A running request: its credit, its incoming stream, and whether it was cancelled."""

    def __init__(self, number, output, buffered):
        self.number = number
        self.output = output
        self.buffered = buffered
        self.changed = threading.Condition()
        self.credit = WINDOW
        self.pieces = []
        self.ended = False
        self.cancelled = False

    def check(self):
        if self.cancelled:
            raise Cancelled()

    def stream(self, kind, payload):
        with self.changed:
            while self.credit <= 0 and not self.cancelled:
                self.changed.wait()
            self.check()
            self.credit -= len(payload)
        self.output.send(kind, self.number, payload)

    def sent_pieces(self):
        """Yields what the Node side sends, until the end of the stream."""
        while True:
            with self.changed:
                while not self.pieces and not self.ended and not self.cancelled:
                    self.changed.wait()
                self.check()
                if not self.pieces:
                    return
                piece = self.pieces.pop(0)
            yield piece
            self.buffered.add(-len(piece))
            self.output.send(CREDIT, self.number, struct.pack(">I", len(piece)))

    def take(self, kind, payload):
        with self.changed:
            if kind == DATA:
                self.buffered.add(len(payload))
                self.pieces.append(payload)
            elif kind == END:
                self.ended = True
            elif kind == CREDIT:
                self.credit += struct.unpack(">I", payload)[0]
            elif kind == CANCEL:
                self.cancelled = True
            self.changed.notify_all()

    def drop(self):
        with self.changed:
            self.buffered.add(-sum(map(len, self.pieces)))
            self.pieces = []


def to_json(value):
    return json.dumps(value).encode()
