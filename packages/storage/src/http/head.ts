/** Writes and parses HTTP/1.1 heads for bodies of known length; everything else is left to undici. */
import type { HttpHeaders } from "./messages.ts";

export interface AnswerHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** Body length in bytes; undefined if the body is chunked. */
  readonly length: number | undefined;
  /** Whether the connection can be reused. */
  readonly keptAlive: boolean;
}

const forbidden = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Returns the head of a request as text. Returns undefined if a part of the head contains a character that could be
 * read as a line end.
 */
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

const statusLine = /^HTTP\/1\.1 ([2-5]\d\d)(?: [^\r\n]*)?(?:\r\n|$)/;
export const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Characters that are refused in a head: line ends other than CRLF, and NUL. */
const breaking = /\r(?!\n)|(?<!\r)\n|\0/;

/**
 * Parses the head of an answer. Returns undefined if anything in the head is unusual, for example if it states neither
 * a length nor chunks, so that the body ends with the connection.
 */
export function parseHead(text: string): AnswerHead | undefined {
  const first = statusLine.exec(text);
  const headers = first && !breaking.test(text) ? parseHeaders(text, first[0].length) : undefined;
  if (!first || !headers) return undefined;
  const status = Number(first[1]);
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

function parseHeaders(text: string, start: number): Record<string, string | string[]> | undefined {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (let at = start, end: number; at < text.length; at = end + 2) {
    end = text.indexOf("\r\n", at);
    if (end < 0) end = text.length;
    const colon = text.indexOf(":", at);
    // If this line has no colon, `colon` belongs to a later line. The name then contains a line end, and `nameOf`
    // refuses it.
    const name = colon < 0 ? undefined : nameOf(text.slice(at, colon));
    if (name === undefined) return undefined;
    const value = text.slice(colon + 1, end).trim();
    const before = headers[name];
    if (Array.isArray(before)) before.push(value);
    else headers[name] = before === undefined ? value : [before, value];
  }
  return headers;
}

/**
 * Valid header names in lower case, by the name as the server wrote it. A cache, because a server sends the same names
 * in every answer.
 */
const names = new Map<string, string>();
const mostNames = 256;

/** Returns the name in lower case, or undefined if it is invalid. */
function nameOf(written: string): string | undefined {
  const known = names.get(written);
  if (known !== undefined || !headerName.test(written)) return known;
  const name = written.toLowerCase();
  if (names.size < mostNames) names.set(written, name);
  return name;
}
