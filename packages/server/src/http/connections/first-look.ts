/**
 * Checks requests before the framework handles them. Pipelined requests and the chunks of a body arrive in one
 * iteration of the event loop, so each check must be cheap.
 */
import type { IncomingMessage, RequestListener, Server } from "node:http";

/**
 * A body may have this many chunks, plus one for every `leastPiece` bytes. If a body has more chunks, the connection is
 * closed, because handling a chunk costs as much as reading kilobytes of data.
 */
const mostPieces = 256;
const leastPiece = 64;

export function lookFirst(server: Server): void {
  const [handle] = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    // The connection was already closed; this request is the rest of what was read before.
    if (request.socket.destroyed) return;
    refuseCrumbs(request);
    handle?.call(server, request, response);
  });
}

function refuseCrumbs(request: IncomingMessage): void {
  const push = request.push;
  let [pieces, bytes] = [0, 0];
  request.push = (piece: Buffer | null, encoding?: BufferEncoding) => {
    // A request that was destroyed has no socket.
    if (request.destroyed || request.socket.destroyed) return false;
    if (piece !== null) {
      bytes += piece.length;
      if (++pieces > mostPieces + bytes / leastPiece) {
        request.socket.destroy();
        return false;
      }
    }
    return push.call(request, piece, encoding);
  };
}
