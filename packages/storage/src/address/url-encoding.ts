/** Percent-encoding as signatures want it: everything but letters, digits and `-._~`. */
import { StorageError } from "../errors.ts";

/** Of a key in a path: its slashes stay. */
export const encodeKey = (key: string) =>
  /^[\w.~/-]*$/.test(key) ? key : wellFormed(key).split("/").map(encodeText).join("/");

/** Most text needs nothing, or only for its slashes, and finding that out is cheaper than encoding it. */
export function encodeText(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  if (/^[\w.~/-]*$/.test(text)) return text.replaceAll("/", "%2F");
  return encodeURIComponent(wellFormed(text)).replace(/[!'()*]/g, percent);
}

/** Keys are UTF-8, which has no halves of characters: they would be sent as another key. */
function wellFormed(text: string): string {
  if (text.isWellFormed()) return text;
  const message = `${JSON.stringify(text)} is not a text: a half of a surrogate pair stands alone in it`;
  throw new StorageError("invalid", message, { key: text });
}

const percent = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;

export function encodeQuery(query: Readonly<Record<string, string>>): string {
  let words = "";
  for (const name in query) words += `${words === "" ? "?" : "&"}${encodeText(name)}=${encodeText(query[name] ?? "")}`;
  return words;
}
