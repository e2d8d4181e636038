/**
 * What arrives over a connection is read in small slices, in turns with all others. The parser goes through what it is
 * given without a break: 64 KiB of small requests, or of a body in crumbs, hold the event loop for tens of milliseconds, and
 * a round of it may bring as much from each of hundreds of connections.
 */
import type { Socket } from "node:net";

/** Some dozens of the smallest requests. */
const smallest = 2048;
/** As much as is ever read at once. */
const largest = 65_536;
/** Whatever takes no longer is a body in large pieces, of which more may come at a time. */
const briefMs = 0.25;

/** `begin` calls back when it is this connection's turn. */
export function readInTurns(socket: Socket, begin: (go: () => void) => void): void {
  // The parser of a server reads from the kernel by itself, unless somebody else listens, too.
  const anybody = () => {};
  socket.on("data", anybody).off("data", anybody);
  const [push, read] = [socket.push, socket._read];
  const waiting: (Buffer | null)[] = [];
  let goesOn = true;
  let slice = smallest;
  const next = () => {
    const first = waiting.shift();
    if (socket.destroyed || first === undefined) return;
    if (first !== null && first.length > slice) waiting.unshift(first.subarray(slice));
    const began = performance.now();
    goesOn = push.call(socket, first === null ? null : first.subarray(0, slice));
    slice = performance.now() - began < briefMs ? Math.min(2 * slice, largest) : smallest;
    if (waiting.length > 0) begin(next);
    else if (goesOn) read.call(socket, largest);
  };
  socket.push = (piece: Buffer | null) => {
    waiting.push(piece);
    if (waiting.length === 1) begin(next);
    return waiting.length === 0 && goesOn;
  };
  // Nothing more is read from the kernel before this was.
  socket._read = (size) => {
    if (waiting.length === 0) read.call(socket, size);
  };
}
