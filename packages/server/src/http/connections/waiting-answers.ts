/** Bounds the total memory of answers that wait for their readers. */
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Maximum number of buffered bytes of all connections together. */
export const mostWaiting = 256 * 1024 * 1024;

export interface Waiting {
  readonly socket: Socket;
  readonly owner: object;
  readonly bytes: number;
}

/** Returns the buffered bytes of a connection, including answers to pipelined requests. */
export function bytesWaiting(socket: Socket, answers: Iterable<ServerResponse>): number {
  let bytes = 0;
  // The length of the answer that is being written includes the bytes in the socket.
  for (const answer of answers) bytes += answer.writableLength;
  return Math.max(bytes, socket.writableLength);
}

/**
 * Picks the connections to close so that at most `most` bytes remain buffered. Each time, picks the connection with the
 * most buffered bytes, of the owner with the most buffered bytes.
 */
export function largestOf(all: readonly Waiting[], most: number): Socket[] {
  const owners = new Map<object, { bytes: number; waiting: Waiting[] }>();
  let sum = 0;
  for (const waiting of all) {
    const own = owners.get(waiting.owner) ?? { bytes: 0, waiting: [] };
    owners.set(waiting.owner, own);
    own.bytes += waiting.bytes;
    own.waiting.push(waiting);
    sum += waiting.bytes;
  }
  for (const { waiting } of owners.values()) waiting.sort((a, b) => a.bytes - b.bytes);
  const cut: Socket[] = [];
  while (sum > most) {
    const owner = [...owners.values()].reduce((most, other) => (other.bytes > most.bytes ? other : most));
    const largest = owner.waiting.pop();
    if (!largest) break;
    owner.bytes -= largest.bytes;
    sum -= largest.bytes;
    cut.push(largest.socket);
  }
  return cut;
}
