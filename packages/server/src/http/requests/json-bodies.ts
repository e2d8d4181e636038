/**
 * Reads JSON bodies. A body is scanned before it is parsed, because the time for parsing depends on the number of
 * values more than on the number of bytes.
 */
import type { IncomingMessage } from "node:http";
import { ApiError, invalid } from "@millrace/contract";

/** Maximum depth of nesting: deeper than any request needs, and shallow enough for recursive code. */
const maxDepth = 100;

/** Maximum number of values in a body, more than any request needs. Arrays and objects also count as values. */
export const maxValues = 100_000;

/**
 * Parses a body. Returns undefined for an empty body, because some clients set the JSON content type even on requests
 * without a body.
 */
export function readJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  lookOver(body);
  return parse(body.toString("utf8"));
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    // The message quotes a piece of the body, which may contain a secret, so the quote is removed.
    const why = (error as Error).message.replace(/, (\.\.\.)?"[\s\S]*$/, "");
    throw new ApiError("bad_request", `The body is not valid JSON: ${why}`);
  }
}

/** Reads the JSON body of a GET request, which the framework ignores. */
export async function bodyOfGet(request: IncomingMessage, limit: number): Promise<unknown> {
  if (Number(request.headers["content-length"]) > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) return void chunks.push(chunk);
      // The error handler reads and drops the rest.
      request.removeAllListeners("data");
      reject(tooLarge(limit));
    });
    request.once("end", resolve);
    request.once("error", () =>
      reject(new ApiError("bad_request", "The connection closed before the whole body arrived.")),
    );
  });
  return readJson(Buffer.concat(chunks));
}

export const tooLarge = (limit: number) =>
  new ApiError("too_large", `The body is larger than ${limit} bytes, the limit of this route.`);

const [quote, backslash, comma, u] = Buffer.from('"\\,u');
const [openList, closeList, openObject, closeObject] = Buffer.from("[]{}");

/**
 * Scans a body byte by byte, and throws if it is nested too deeply, has too many values or contains forbidden
 * characters. This works on bytes, because in UTF-8 the bytes of JSON syntax never occur inside other characters.
 */
function lookOver(json: Buffer): void {
  let depth = 0;
  let values = 1;
  for (let index = 0; index < json.length; index++) {
    const byte = json[index];
    if (byte === quote) index = endOfText(json, index + 1);
    else if (byte === comma) values++;
    else if (byte === openList || byte === openObject) {
      values++;
      if (++depth > maxDepth) throw invalid("body", `at most ${maxDepth} levels of nesting`);
    } else if (byte === closeList || byte === closeObject) depth--;
    if (values > maxValues) throw invalid("body", `at most ${maxValues} values`);
  }
}

/** Returns the index of the closing quote of a string. */
function endOfText(json: Buffer, start: number): number {
  for (let index = start; index < json.length; index++) {
    if (json[index] === quote) return index;
    if (json[index] !== backslash) continue;
    index++;
    if (json[index] === u) index += checkEscape(json, index + 1);
  }
  return json.length;
}

/**
 * Throws if an escape stands for NUL or for an unpaired surrogate, which PostgreSQL cannot store. `at` is the index
 * after `\u`. Returns the number of bytes to skip: 10 for a surrogate pair, otherwise 0.
 */
function checkEscape(json: Buffer, at: number): number {
  const code = codeAt(json, at);
  if (code === 0) throw invalid("body", "text without NUL characters");
  const isFirstHalf = code >= 0xd800 && code <= 0xdbff;
  if (!isFirstHalf && !isSecondHalf(code)) return 0;
  const pair = isFirstHalf && json[at + 4] === backslash && json[at + 5] === u && isSecondHalf(codeAt(json, at + 6));
  if (!pair) throw invalid("body", "text without unpaired surrogates");
  return 10;
}

const isSecondHalf = (code: number) => code >= 0xdc00 && code <= 0xdfff;

/** Value of each byte as a hexadecimal digit; NaN if it is none. */
const digits = Float64Array.from({ length: 256 }, (_, byte) => Number.parseInt(String.fromCharCode(byte), 16));

/**
 * Returns the code of an escape; NaN if the escape is malformed. The parser reports malformed escapes later. No string
 * is made: a body may consist of millions of escapes.
 */
function codeAt(json: Buffer, at: number): number {
  let code = 0;
  for (let index = at; index < at + 4; index++) code = code * 16 + (digits[json[index] ?? 0] as number);
  return code;
}
