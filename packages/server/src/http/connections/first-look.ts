/**
 * What is looked at before anything is made of a request. Requests that lie behind one another in what was read come one
 * after the other, and so do the pieces of a body, without a round of the event loop between them: each must be cheap.
 */
import type { IncomingMessage, RequestListener, Server } from "node:http";

/** Pieces in which a body may come, beside one for so many bytes: each costs as much as kilobytes do. */
const mostPieces = 256;
const leastPiece = 64;

export function lookFirst(server: Server): void {
  const [handle] = server.listeners("request") as RequestListener[];
  server.removeAllListeners("request");
  server.on("request", (request, response) => {
    // The rest of what was read before its connection was closed.
    if (request.socket.destroyed) return;
    refuseCrumbs(request);
    handle?.call(server, request, response);
  });
}

function refuseCrumbs(request: IncomingMessage): void {
  const push = request.push;
  let [pieces, bytes] = [0, 0];
  request.push = (piece: Buffer | null, encoding?: BufferEncoding) => {
    if (request.socket.destroyed) return false;
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
