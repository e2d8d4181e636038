/** Parses JSON without rounding numbers, because rows of datasets may contain 64-bit integers. */

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/**
 * Functions of Node.js that have no types in TypeScript yet: `parse` with the source text of each number, and
 * `rawJSON`.
 */
const { parse, rawJSON } = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): unknown;
};

/**
 * Parses JSON, and replaces each number by the result of `readNumber`, which gets the number as text. By default, a
 * number becomes an object that JSON.stringify writes with the same digits.
 */
export const parseExactly = (text: string, readNumber: (source: string) => unknown = rawJSON): unknown =>
  parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined ? readNumber(source) : value,
  );

/**
 * Matches a string, or NaN or Infinity outside strings. A string without an end matches up to the end of the text. If
 * it did not match, the search would start again at each later quote and take quadratic time.
 */
const stringOrBare = /"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\\?$)|-?(?:NaN|Infinity)/g;

/**
 * Replaces NaN and Infinity outside strings by the result of `write`. The `datachain` library writes these words, but
 * they are not valid JSON.
 */
export const replaceBareNumbers = (text: string, write: (word: string) => string): string =>
  /NaN|Infinity/.test(text) ? text.replace(stringOrBare, (part) => (part.startsWith('"') ? part : write(part))) : text;
