/** Expands `{a,b}`, `{1..9}` and `{01..10}` into several patterns. */
import { StorageError } from "../errors.ts";

/**
 * Maximum number of patterns. A larger number is most likely a mistake, and `{1..1000000000}` would use up the memory.
 */
const mostPatterns = 10_000;

export function expandBraces(pattern: string): string[] {
  const open = pattern.indexOf("{");
  const close = open < 0 ? -1 : matchingBrace(pattern, open);
  if (close < 0) return [pattern];
  const before = pattern.slice(0, open);
  const after = expandBraces(pattern.slice(close + 1));
  const inside = pattern.slice(open + 1, close);
  const choices = numbersOf(inside, pattern) ?? splitChoices(inside)?.flatMap(expandBraces);
  // Braces around a single word are literal.
  const heads = choices ?? expandBraces(inside).map((text) => `{${text}}`);
  refuseTooMany(heads.length * after.length, pattern);
  return heads.flatMap((head) => after.map((tail) => before + head + tail));
}

function refuseTooMany(count: number, pattern: string): void {
  if (count <= mostPatterns) return;
  throw new StorageError(
    "invalid",
    `${pattern}: the braces expand to ${count} patterns, more than the limit of ${mostPatterns}; split the pattern`,
  );
}

function matchingBrace(pattern: string, open: number): number {
  let depth = 0;
  for (let at = open; at < pattern.length; at += 1) {
    if (pattern[at] === "{") depth += 1;
    if (pattern[at] === "}") depth -= 1;
    if (depth === 0) return at;
  }
  return -1;
}

/** Splits at commas outside inner braces. Returns undefined if there is no such comma. */
function splitChoices(text: string): string[] | undefined {
  const choices = [""];
  let depth = 0;
  for (const letter of text) {
    if (letter === "{") depth += 1;
    if (letter === "}") depth -= 1;
    if (letter === "," && depth === 0) choices.push("");
    else choices[choices.length - 1] += letter;
  }
  return choices.length > 1 ? choices : undefined;
}

/**
 * Expands `1..9` to its numbers. Returns undefined for other texts. If one of the two numbers has leading zeros, all
 * numbers are padded to the length of the longer one.
 */
function numbersOf(text: string, pattern: string): string[] | undefined {
  const [, first, last] = /^(-?\d+)\.\.(-?\d+)$/.exec(text) ?? [];
  if (first === undefined || last === undefined) return undefined;
  const width = /^-?0\d/.test(first) || /^-?0\d/.test(last) ? Math.max(first.length, last.length) : 0;
  const step = Number(first) <= Number(last) ? 1 : -1;
  const count = Math.abs(Number(last) - Number(first)) + 1;
  refuseTooMany(count, pattern);
  return Array.from({ length: count }, (_, index) => padded(Number(first) + index * step, width));
}

const padded = (value: number, width: number) =>
  value < 0 ? `-${String(-value).padStart(width - 1, "0")}` : String(value).padStart(width, "0");
