/** What is left of a body when the request is answered already. */
import type { IncomingMessage } from "node:http";

/**
 * Read and dropped, so that the answer reaches a caller that is still sending, and the connection can be used again.
 * Beyond the limit the connection is closed instead.
 */
export function dropRest(request: IncomingMessage, limit: number): void {
  let left = limit;
  request.unpipe();
  request.removeAllListeners("data");
  request.on("data", (bytes: Buffer) => {
    left -= bytes.length;
    if (left < 0) request.socket.destroy();
  });
  request.resume();
}
