/** Bodies of requests, as JSON. */
import type { IncomingMessage } from "node:http";
import { ApiError, invalid } from "@millrace/contract";

/** An empty body is no body, whatever its content type says: the client sends that type with every request. */
export function readJson(body: string): unknown {
  if (body === "") return undefined;
  if (depthOf(body) > maxDepth) throw invalid("body", `at most ${maxDepth} levels of nesting`);
  const value = parse(body);
  // The shared store cannot hold this character; refused everywhere, so that both stores behave alike.
  if (body.includes("\\u0000") && holdsNul(value)) throw invalid("body", "text without NUL characters");
  return value;
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
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > limit) throw new ApiError("too_large", `The body is over ${limit} bytes.`);
    chunks.push(chunk);
  }
  return readJson(Buffer.concat(chunks).toString("utf8"));
}

/** Deeper than any request needs, and shallow enough for everything that walks a value. */
const maxDepth = 100;

/** Brackets open at once, outside of strings. Character by character: a pattern runs out of stack on long strings. */
function depthOf(json: string): number {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  for (let index = 0; index < json.length; index++) {
    const character = json[index];
    if (inString) {
      if (character === "\\") index++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === "[" || character === "{") deepest = Math.max(deepest, ++depth);
    else if (character === "]" || character === "}") depth--;
  }
  return deepest;
}

export const holdsNul = (value: unknown): boolean =>
  typeof value === "string"
    ? value.includes("\0")
    : typeof value === "object" && value !== null && Object.entries(value).some((entry) => entry.some(holdsNul));
