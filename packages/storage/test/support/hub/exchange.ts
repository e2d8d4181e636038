/** One request to our own hub and its answer. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";

export interface HubRequest {
  readonly method: string;
  /** The path as it was sent. */
  readonly url: string;
  /** The decoded segments: a slash inside a revision is not a separator. */
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The address of the hub as the client sees it. */
  readonly origin: string;
}

export type Headers = Readonly<Record<string, string>>;

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Headers = {},
): ServerResponse {
  response.writeHead(status, { "content-type": "application/json; charset=utf-8", ...headers });
  return response.end(JSON.stringify(value));
}

/** An error as the hub sends it: with the code in a header. */
export function refuse(response: ServerResponse, status: number, code: string, message: string): ServerResponse {
  const headers = { "x-error-code": code, "x-error-message": message, "x-request-id": "Root=test" };
  return sendJson(response, status, { error: message }, headers);
}

/** The bytes, or the requested range of them. */
export function sendBytes(
  request: HubRequest,
  response: ServerResponse,
  bytes: Buffer,
  headers: Headers,
): ServerResponse {
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? "") ?? [];
  const start = first === undefined ? 0 : Number(first);
  const end = last ? Math.min(Number(last) + 1, bytes.length) : bytes.length;
  if (first !== undefined && start >= bytes.length) {
    return response.writeHead(416, { ...headers, "content-range": `bytes */${bytes.length}` }).end();
  }
  const range: Headers = first === undefined ? {} : { "content-range": `bytes ${start}-${end - 1}/${bytes.length}` };
  const length = { "content-length": String(end - start), "accept-ranges": "bytes" };
  response.writeHead(first === undefined ? 200 : 206, { ...headers, ...range, ...length });
  return response.end(request.method === "HEAD" ? undefined : bytes.subarray(start, end));
}
