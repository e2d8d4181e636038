/** JSON whose numbers keep all their digits: rows of datasets hold whole numbers of 64 bits. */

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown;

/** The platform has these; TypeScript has no types for them yet. */
const { parse, rawJSON } = JSON as unknown as {
  parse(text: string, reviver: Reviver): unknown;
  rawJSON(text: string): unknown;
};

/** `readNumber` gets each number as it is written. By default numbers are written by JSON.stringify as they were read. */
export const parseExactly = (text: string, readNumber: (source: string) => unknown = rawJSON): unknown =>
  parse(text, (_key, value, { source }) =>
    typeof value === "number" && source !== undefined ? readNumber(source) : value,
  );

/** A string, also one that does not end: tried again from each of its quotes, that would take for ever. */
const stringOrBare = /"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"|\\?$)|-?(?:NaN|Infinity)/g;

/** The dataset library writes NaN and Infinity bare, which is no JSON: puts something else in their place. */
export const replaceBareNumbers = (text: string, write: (word: string) => string): string =>
  /NaN|Infinity/.test(text) ? text.replace(stringOrBare, (part) => (part.startsWith('"') ? part : write(part))) : text;
