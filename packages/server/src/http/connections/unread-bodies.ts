/** Discards the rest of a request body after the request was answered. */
import type { IncomingMessage } from "node:http";

/**
 * Reads and drops the rest of a body, so that a caller that is still sending gets the answer and can reuse the
 * connection. Closes the connection if the rest exceeds the limit.
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
