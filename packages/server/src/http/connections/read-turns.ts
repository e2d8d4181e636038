/**
 * Reads the bytes that arrive on a connection in small slices, taking turns with other connections. Without slices, the
 * parser would handle up to 64 KiB without a break. If these are many small requests or tiny body chunks, they block
 * the event loop for tens of milliseconds, and hundreds of connections may send them at once.
 */
import type { Socket } from "node:net";
import { freeRead } from "./freed-bytes.ts";

/** Bytes of the first slice: a few dozen of the smallest requests. */
const smallest = 2048;
/** Maximum number of bytes of a slice. */
const largest = 65_536;
/**
 * If handling a slice takes less than this many milliseconds, the next slice is twice as large. Large chunks of a body
 * are handled so quickly, many small requests are not.
 */
const briefMs = 0.25;

/** Makes a socket read in slices. `begin` gets a function and calls it when it is this connection's turn. */
export function readInTurns(socket: Socket, begin: (go: () => void) => void): void {
  // Without another listener for data, the server's parser would read directly from the kernel.
  const anybody = () => {};
  socket.on("data", anybody).off("data", anybody);
  const [push, read] = [socket.push, socket._read];
  /** What was read and is not handled yet; null at the end. */
  const waiting: { rest: Buffer | null; readonly read: Buffer | null }[] = [];
  let goesOn = true;
  let slice = smallest;
  const next = () => {
    const [first] = waiting;
    if (socket.destroyed || first === undefined) return;
    const { rest, read: whole } = first;
    if (rest !== null && rest.length > slice) first.rest = rest.subarray(slice);
    else waiting.shift();
    const began = performance.now();
    goesOn = push.call(socket, rest === null ? null : rest.subarray(0, slice));
    if (whole !== null && waiting[0] !== first) freeRead(socket, whole);
    slice = performance.now() - began < briefMs ? Math.min(2 * slice, largest) : smallest;
    if (waiting.length > 0) begin(next);
    else if (goesOn) read.call(socket, largest);
  };
  socket.push = (piece: Buffer | null) => {
    waiting.push({ rest: piece, read: piece });
    if (waiting.length === 1) begin(next);
    return waiting.length === 0 && goesOn;
  };
  // Read from the kernel only after all waiting slices were processed.
  socket._read = (size) => {
    if (waiting.length === 0) read.call(socket, size);
  };
}
