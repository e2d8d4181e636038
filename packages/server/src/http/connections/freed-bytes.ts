/**
 * Frees the memory of bytes that arrived as soon as nobody reads them any more. Every read from a connection gets 64 KiB
 * of its own. Left to the garbage collector, which looks at the whole heap to find them, the bytes of a long log cost
 * more than everything else that is done with them.
 */
import type { Socket } from "node:net";

const copied = new WeakSet<Socket>();

/** From now on, the parser copies everything that it passes on of this connection: the body of a request arrives. */
export const beginCopied = (socket: Socket) => copied.add(socket);
export const endCopied = (socket: Socket) => copied.delete(socket);

/** Frees the memory of a read, after the parser has handled all of it. */
export function freeRead(socket: Socket, read: Buffer): void {
  // Bytes that wait in the connection have not been handled.
  if (copied.has(socket) && socket.readableLength === 0) free(read);
}

/** Frees the memory of these bytes, unless it holds others, too: small ones come from a pool of Node. */
export function free({ buffer, byteLength }: Buffer): void {
  if (byteLength === buffer.byteLength && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
