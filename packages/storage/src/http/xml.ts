/**
 * Scans the XML of object stores by hand. The XML is flat and machine-made, and for a page of a thousand keys, a
 * general parser takes longer than the network.
 */

import { describePlace, type ErrorPlace, StorageError } from "../errors.ts";

/** Matches everything before the root element of a document, and the name of that element. */
const beginning = /^(?:\ufeff|\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<(?:[\w.-]+:)?([\w.-]+)(?:\s[^>]*?)?(\/?)>)/;
/** Bytes that are looked at from both ends: more than a root element with its namespaces has. */
const looked = 2048;

/**
 * Throws unless the text is a whole XML document with this root element. A proxy may answer with status 200 in place of
 * the store, or cut an answer off; what is missing would otherwise count as not there.
 */
export function requireRoot(xml: Uint8Array | string, root: string, place: ErrorPlace): void {
  const bytes = typeof xml === "string" ? xml : Buffer.from(xml.buffer, xml.byteOffset, xml.length);
  const cut = (from: number, to?: number) =>
    typeof bytes === "string" ? bytes.slice(from, to) : bytes.subarray(from, to).toString("latin1");
  const head = cut(0, looked);
  const [, name, isEmpty] = beginning.exec(head) ?? [];
  if (name === root && (isEmpty || new RegExp(`</(?:[\\w.-]+:)?${root}\\s*>\\s*$`).test(cut(-looked)))) return;
  const what = name === root ? "was cut off" : `begins with ${JSON.stringify(head.trim().slice(0, mostQuoted))}`;
  const message = `${describePlace(place)}: expected <${root}> from the store, but the answer ${what}; a proxy or a sign-in page may have answered in its place`;
  throw new StorageError("network", message, place);
}

/**
 * Returns the text of the first element with this name between the offsets `from` and `limit`, or undefined if there is
 * none.
 */
export function elementText(xml: string, name: string, from = 0, limit = xml.length): string | undefined {
  const open = `<${name}>`;
  const start = xml.indexOf(open, from);
  if (start < 0 || start >= limit) return undefined;
  const end = xml.indexOf("</", start + open.length);
  return end < 0 ? undefined : decodeText(xml.slice(start + open.length, end));
}

/** Yields, for each element with this name, the offset after its opening tag and the offset of its closing tag. */
export function* elements(xml: string, name: string): Generator<{ start: number; end: number }> {
  const open = `<${name}>`;
  const close = `</${name}>`;
  for (let start = xml.indexOf(open); start >= 0; ) {
    const end = xml.indexOf(close, start);
    if (end < 0) return;
    yield { start: start + open.length, end };
    start = xml.indexOf(open, end);
  }
}

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };

export function decodeText(text: string): string {
  if (!text.includes("&")) return text;
  const decoded = text.replace(/&(?:#x([0-9a-fA-F]+)|#(\d+)|(\w+));/g, (whole, hex, decimal, name) => {
    if (hex) return character(Number.parseInt(hex, 16), whole);
    if (decimal) return character(Number(decimal), whole);
    return entities[name as string] ?? whole;
  });
  // Some writers encode a character as two references, one for each surrogate, so only the decoded text can be checked.
  if (decoded.isWellFormed()) return decoded;
  throw new StorageError("failed", `the store's XML contains half of a surrogate pair: ${text.slice(0, mostQuoted)}`);
}

function character(number: number, reference: string): string {
  if (number <= lastCharacter) return String.fromCodePoint(number);
  const message = `the store's XML contains an invalid character reference: ${reference.slice(0, mostQuoted)}`;
  throw new StorageError("failed", message);
}

const lastCharacter = 0x10ffff;

/** Maximum number of characters of an invalid text that a message quotes. */
const mostQuoted = 80;

const special: Readonly<Record<string, string>> = { "<": "&lt;", ">": "&gt;", "&": "&amp;" };

/** Escapes text for XML. Control characters are escaped too, because XML does not preserve them as plain text. */
export const escapeText = (text: string) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be escaped
  text.replace(/[<>&\u0000-\u001f]/g, (letter) => special[letter] ?? `&#${letter.charCodeAt(0)};`);
