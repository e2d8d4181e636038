/**
 * Sends answers on connections that the framework does not handle: invalid HTTP, upgrades, and requests that take too
 * long.
 */
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ApiError } from "@millrace/contract";

/**
 * Sends a final answer and closes both directions of the connection. If only the server's direction were closed, a
 * caller that never closes its side would keep the connection half open.
 */
export function answerAndClose(socket: Duplex, error: ApiError): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify(error.toBody());
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    "Content-Type: application/json; charset=utf-8",
    "X-Content-Type-Options: nosniff",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(error.retryAfter === undefined ? [] : [`Retry-After: ${error.retryAfter}`]),
    "Connection: close",
  ];
  // The connection of an upgrade need not be a socket: if the request has a body, the connection is a stream that wraps
  // the socket.
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
