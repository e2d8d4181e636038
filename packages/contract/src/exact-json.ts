/** Parses JSON without rounding numbers, because rows of datasets may contain 64-bit integers. */

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/**
 * Node.js passes the source text of a number to the reviver and has `rawJSON`; TypeScript has no types for either yet.
 */
const { parse, rawJSON } = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): unknown;
};

/**
 * Parses JSON. Each number is replaced by the result of `readNumber` for the text of the number. By default, this is an
 * object that JSON.stringify writes exactly as the number was read.
 */
export const parseExactly = (text: string, readNumber: (source: string) => unknown = rawJSON): unknown =>
  parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined ? readNumber(source) : value,
  );

/**
 * Matches a string, or NaN or Infinity outside strings. An unterminated string matches up to the end of the text;
 * otherwise the search would restart at each quote in it and take quadratic time.
 */
const stringOrBare = /"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\\?$)|-?(?:NaN|Infinity)/g;

/**
 * Replaces NaN and Infinity outside strings by the result of `write`. The `datachain` library writes them, but they are
 * not valid JSON.
 */
export const replaceBareNumbers = (text: string, write: (word: string) => string): string =>
  /NaN|Infinity/.test(text) ? text.replace(stringOrBare, (part) => (part.startsWith('"') ? part : write(part))) : text;
