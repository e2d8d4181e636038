/** The heads of HTTP/1.1, for a body of known length: what is any more than that is left to the ordinary client. */
import type { HttpHeaders } from "./http-body.ts";

export interface AnswerHead {
  readonly status: number;
  readonly headers: HttpHeaders;
  /** Bytes of the body. */
  readonly length: number;
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
  const all = { host, ...headers, connection: "keep-alive" };
  const lines = [`${method} ${path} HTTP/1.1`, ...Object.entries(all).map(([name, value]) => `${name}: ${value}`)];
  return lines.some((line) => forbidden.test(line)) ? undefined : `${lines.join("\r\n")}\r\n\r\n`;
}

const statusLine = /^HTTP\/1\.1 ([2-5]\d\d)(?: [^\r\n]*)?$/;
const headerLine = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(.*?)[ \t]*$/;

/** Undefined where the length of the body is not told in advance, or anything is odd. */
export function parseHead(text: string): AnswerHead | undefined {
  const [first = "", ...lines] = text.split("\r\n");
  const status = Number(statusLine.exec(first)?.[1]);
  const headers = parseHeaders(lines);
  if (Number.isNaN(status) || !headers || headers["transfer-encoding"] !== undefined) return undefined;
  const length = headers["content-length"];
  const bare = status === 204 || status === 304;
  if (!bare && (typeof length !== "string" || !/^\d{1,15}$/.test(length))) return undefined;
  const keptAlive = !/\bclose\b/i.test(String(headers["connection"] ?? ""));
  return { status, headers, length: bare ? 0 : Number(length), keptAlive };
}

function parseHeaders(lines: readonly string[]): Record<string, string | string[]> | undefined {
  const headers: Record<string, string | string[]> = Object.create(null);
  for (const line of lines) {
    const [, name, value] = headerLine.exec(line) ?? [];
    if (name === undefined || value === undefined) return undefined;
    const key = name.toLowerCase();
    const before = headers[key];
    headers[key] = before === undefined ? value : [before, value].flat();
  }
  return headers;
}
