/** Percent-encodes as signatures require: everything but letters, digits and `-._~`. */
import { StorageError } from "../errors.ts";

/** Encodes a key for a URL path and keeps its slashes. */
export const encodeKey = (key: string) =>
  /^[\w.~/-]*$/.test(key) ? key : wellFormed(key).split("/").map(encodeText).join("/");

/**
 * Percent-encodes a text, its slashes included. In most texts, nothing needs encoding, or only the slashes do. Two
 * checks find these texts first, because the checks are cheaper than encoding.
 */
export function encodeText(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  if (/^[\w.~/-]*$/.test(text)) return text.replaceAll("/", "%2F");
  return encodeURIComponent(wellFormed(text)).replace(/[!'()*]/g, percent);
}

/**
 * Returns the text. Throws if it contains a lone surrogate, which UTF-8 cannot encode, so that another key would be
 * sent.
 */
function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  const message = `${JSON.stringify(text)} is not valid Unicode: it contains half of a surrogate pair`;
  throw new StorageError("invalid", message, { key: text });
}

const percent = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;

export function encodeQuery(query: Readonly<Record<string, string>>): string {
  let words = "";
  for (const name in query) words += `${words === "" ? "?" : "&"}${encodeText(name)}=${encodeText(query[name] ?? "")}`;
  return words;
}
