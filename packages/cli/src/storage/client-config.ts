/**
 * Reads `--client-config`, which is JSON, or the name of a file or pipe with JSON. A file keeps secrets off the command
 * line.
 */
import { readFile } from "node:fs/promises";
import { text as readAll } from "node:stream/consumers";
import type { ClientConfig } from "@millrace/storage";
import { messageOf, usageError } from "../errors.ts";

export async function readClientConfig(given: string | undefined): Promise<ClientConfig> {
  if (given === undefined) return {};
  const text = given.startsWith("@") ? await readPlace(given.slice(1)) : given;
  const value = parse(text);
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as ClientConfig;
  throw usageError("Invalid --client-config", { why: 'Expected a JSON object, such as {"anon": true}, or @FILE' });
}

async function readPlace(path: string): Promise<string> {
  try {
    return await (path === "-" ? readAll(process.stdin) : readFile(path, "utf8"));
  } catch (error) {
    throw usageError(`--client-config: cannot read ${path}`, { why: messageOf(error), cause: error });
  }
}

/**
 * Parses JSON. Returns undefined if the text is not JSON. It does not throw, because the error would quote the text
 * with its secrets.
 */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
