/** Bodies of requests, as JSON. Looked over once before they are parsed: parsing costs what the values cost, not the bytes. */
import type { IncomingMessage } from "node:http";
import { ApiError, invalid } from "@millrace/contract";

/** Deeper than any request needs, and shallow enough for everything that walks a value. */
const maxDepth = 100;

/** More than any request needs; every list and object counts once more. */
export const maxValues = 100_000;

/** An empty body is no body, whatever its content type says: the client sends that type with every request. */
export function readJson(body: Buffer): unknown {
  if (body.length === 0) return undefined;
  lookOver(body);
  return parse(body.toString("utf8"));
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    // Without the piece of the body that the message quotes: it may be a secret.
    const why = (error as Error).message.replace(/, (\.\.\.)?"[\s\S]*$/, "");
    throw new ApiError("bad_request", `The body is not JSON: ${why}`);
  }
}

/** Of a GET, where the framework does not look for one. */
export async function bodyOfGet(request: IncomingMessage, limit: number): Promise<unknown> {
  if (Number(request.headers["content-length"]) > limit) throw tooLarge(limit);
  const chunks: Buffer[] = [];
  let size = 0;
  await new Promise<void>((resolve, reject) => {
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= limit) return void chunks.push(chunk);
      // Whoever answers drops the rest.
      request.removeAllListeners("data");
      reject(tooLarge(limit));
    });
    request.once("end", resolve);
    request.once("error", () => reject(new ApiError("bad_request", "The body broke off.")));
  });
  return readJson(Buffer.concat(chunks));
}

export const tooLarge = (limit: number) =>
  new ApiError("too_large", `The body is over ${limit} bytes, the limit of this path.`);

const [quote, backslash, comma, u] = Buffer.from('"\\,u');
const [openList, closeList, openObject, closeObject] = Buffer.from("[]{}");

/** Byte by byte, in UTF-8: what JSON is made of are bytes that no other character holds. */
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

/** Where the closing quote is. */
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
 * Characters that the shared store cannot hold are refused everywhere, so that both stores behave alike: NUL, and halves
 * of characters. They can only be written as escapes: bare they are no JSON, or no UTF-8. Returns the length of the rest.
 */
function checkEscape(json: Buffer, at: number): number {
  const code = codeAt(json, at);
  if (code === 0) throw invalid("body", "text without NUL characters");
  const isFirstHalf = code >= 0xd800 && code <= 0xdbff;
  if (!isFirstHalf && !isSecondHalf(code)) return 0;
  const pair = isFirstHalf && json[at + 4] === backslash && json[at + 5] === u && isSecondHalf(codeAt(json, at + 6));
  if (!pair) throw invalid("body", "text of whole characters, got half of a surrogate pair");
  return 10;
}

const isSecondHalf = (code: number) => code >= 0xdc00 && code <= 0xdfff;
/** NaN where there is none: whoever parses says so. */
const codeAt = (json: Buffer, at: number) => Number(`0x${json.toString("latin1", at, at + 4)}`);
