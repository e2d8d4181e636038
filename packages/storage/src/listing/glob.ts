/**
 * Finds the paths that match a pattern. `*`, `?` and classes match within a folder, `**` across folders; `{a,b}` and
 * `{01..10}` are alternatives. Only folders that can hold a match are listed.
 */
import type { CallOptions, Entry } from "../backend.ts";
import { expandBraces } from "./braces.ts";

/** Lists everything that begins with a prefix, one level or recursively. */
export type ListPrefix = (prefix: string, recursive: boolean, options: CallOptions) => AsyncIterable<Entry>;

const magic = /[*?[\\]/;

/** Yields each matching file once. */
export async function* globEntries(list: ListPrefix, pattern: string, options: CallOptions): AsyncGenerator<Entry> {
  const alternatives = expandBraces(pattern);
  const seen = alternatives.length > 1 ? new Set<string>() : undefined;
  for (const alternative of alternatives) {
    for await (const entry of globSegments(list, "", alternative.split("/"), options)) {
      if (seen?.has(entry.path)) continue;
      seen?.add(entry.path);
      yield entry;
    }
  }
}

async function* globSegments(
  list: ListPrefix,
  folder: string,
  segments: readonly string[],
  options: CallOptions,
): AsyncGenerator<Entry> {
  const plain = segments.slice(0, -1).findIndex((segment) => magic.test(segment));
  const fixed = plain < 0 ? segments.length - 1 : plain;
  const base =
    folder +
    segments
      .slice(0, fixed)
      .map((segment) => `${segment}/`)
      .join("");
  const below = segments.slice(fixed);
  if (below[0] === "**") yield* globDeep(list, base, below, options);
  else yield* globLevel(list, base, below, options);
}

async function* globLevel(
  list: ListPrefix,
  base: string,
  [segment = "", ...rest]: readonly string[],
  options: CallOptions,
): AsyncGenerator<Entry> {
  const wanted = compileGlob(segment);
  const head = segment.slice(0, segment.search(magic) < 0 ? undefined : segment.search(magic));
  for await (const entry of list(base + head, false, options)) {
    const directory = entry.type === "directory";
    const name = entry.path.slice(base.length, directory ? -1 : undefined);
    if (!wanted.test(name)) continue;
    if (rest.length === 0 && !directory) yield entry;
    else if (rest.length > 0 && directory) yield* globSegments(list, entry.path, rest, options);
  }
}

async function* globDeep(
  list: ListPrefix,
  base: string,
  segments: readonly string[],
  options: CallOptions,
): AsyncGenerator<Entry> {
  const wanted = compileGlob(segments.join("/"));
  for await (const entry of list(base, true, options)) {
    if (entry.type === "file" && wanted.test(entry.path.slice(base.length))) yield entry;
  }
}

/** Compiles a pattern without braces to a regular expression over a whole path. */
export function compileGlob(pattern: string): RegExp {
  let source = "";
  for (let at = 0; at < pattern.length; ) {
    const [text, length] = translate(pattern, at);
    source += text;
    at += length;
  }
  return new RegExp(`^${source}$`, "su");
}

/**
 * Translates the element of the pattern at an offset. Returns its regular expression, and its length in the pattern.
 */
function translate(pattern: string, at: number): [string, number] {
  const letter = String.fromCodePoint(pattern.codePointAt(at) as number);
  const startsSegment = at === 0 || pattern[at - 1] === "/";
  if (startsSegment && pattern.startsWith("**/", at)) return ["(?:[^/]*/)*", 3];
  if (startsSegment && pattern.startsWith("**", at) && at + 2 === pattern.length) return [".*", 2];
  if (letter === "*") return ["[^/]*", 1];
  if (letter === "?") return ["[^/]", 1];
  if (letter === "\\" && at + 1 < pattern.length) return [literal(pattern[at + 1] as string), 2];
  if (letter === "[") return translateClass(pattern, at);
  return [literal(letter), letter.length];
}

/** Translates a class such as `[abc]`, `[a-z]` or `[!a]`. If there is no closing bracket, `[` stands for itself. */
function translateClass(pattern: string, at: number): [string, number] {
  const negated = pattern[at + 1] === "!" || pattern[at + 1] === "^";
  const first = at + (negated ? 2 : 1);
  const end = pattern.indexOf("]", first + 1);
  if (end < 0) return ["\\[", 1];
  const members = pattern
    .slice(first, end)
    .replace(/[\\\]^[]/g, "\\$&")
    .replace(/^-|-$/g, "\\-");
  return [negated ? `[^/${members}]` : `(?!/)[${members}]`, end + 1 - at];
}

const literal = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/u, "\\$&");
