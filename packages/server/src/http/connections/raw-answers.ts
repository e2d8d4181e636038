/** Answers on connections where the framework has no say: what is no HTTP, upgrades, and requests that take too long. */
import { STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import type { ApiError } from "@millrace/contract";

/** The last answer of a connection. Both sides are closed: a caller that never ends its own would keep the other half. */
export function answerAndClose(socket: Duplex, error: ApiError): void {
  if (!socket.writable) return void socket.destroy();
  const body = JSON.stringify(error.toBody());
  const head = [
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
    "Content-Type: application/json; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(error.retryAfter === undefined ? [] : [`Retry-After: ${error.retryAfter}`]),
    "Connection: close",
  ];
  // An upgrade need not come over a socket: where the request has a body, it is a stream around one.
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => socket.destroy());
}
