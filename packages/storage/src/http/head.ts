/** The heads of HTTP/1.1, for a body of known length: what is any more than that is left to the ordinary client. */
import type { HttpHeaders } from "./incoming-body.ts";

export interface AnswerHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** Bytes of the body; undefined where it comes in chunks. */
  readonly length: number | undefined;
  /** Whether the connection can be used again. */
  readonly keptAlive: boolean;
}

const forbidden = /[^\t\x20-\x7e\x80-\xff]/;

/** Undefined: something in it could be taken for the end of a line. */
export function requestHead(
  method: string,
  path: string,
  host: string,
  headers: Readonly<Record<string, string>>,
): string | undefined {
  let [written, text] = [path, `${method} ${path} HTTP/1.1\r\nconnection: keep-alive\r\n`];
  if (headers["host"] === undefined) text += `host: ${host}\r\n`;
  for (const name in headers) {
    written += name + headers[name];
    text += `${name}: ${headers[name]}\r\n`;
  }
  return forbidden.test(written) ? undefined : `${text}\r\n`;
}

const statusLine = /^HTTP\/1\.1 ([2-5]\d\d)(?: [^\r\n]*)?$/;
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const breaking = /[\r\n\0]/;

/** Undefined where only the end of the connection would tell where the body ends, or anything is odd. */
export function parseHead(text: string): AnswerHead | undefined {
  const [first = "", ...lines] = text.split("\r\n");
  const status = Number(statusLine.exec(first)?.[1]);
  const headers = parseHeaders(lines);
  if (Number.isNaN(status) || !headers) return undefined;
  const length = lengthOf(status, headers);
  if (length === undefined) return undefined;
  const keptAlive = !/\bclose\b/i.test(String(headers["connection"] ?? ""));
  return { status, headers, length: length === "chunked" ? undefined : length, keptAlive };
}

function lengthOf(status: number, headers: HttpHeaders): number | "chunked" | undefined {
  const { "content-length": length, "transfer-encoding": encoding } = headers;
  if (status === 204 || status === 304) return 0;
  if (encoding !== undefined) return encoding === "chunked" && length === undefined ? "chunked" : undefined;
  return typeof length === "string" && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

function parseHeaders(lines: readonly string[]): Record<string, string | string[]> | undefined {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (const line of lines) {
    const colon = line.indexOf(":");
    const name = line.slice(0, colon).toLowerCase();
    const value = line.slice(colon + 1);
    if (colon < 0 || !headerName.test(name) || breaking.test(value)) return undefined;
    const before = headers[name];
    if (Array.isArray(before)) before.push(value.trim());
    else headers[name] = before === undefined ? value.trim() : [before, value.trim()];
  }
  return headers;
}
