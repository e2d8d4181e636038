/** Percent-encoding as signatures want it: everything but letters, digits and `-._~`. */

/** Of a key in a path: its slashes stay. */
export const encodeKey = (key: string) => (/^[\w.~/-]*$/.test(key) ? key : key.split("/").map(encodeText).join("/"));

/** Most text needs nothing, or only for its slashes, and finding that out is cheaper than encoding it. */
export function encodeText(text: string): string {
  if (/^[\w.~-]*$/.test(text)) return text;
  if (/^[\w.~/-]*$/.test(text)) return text.replaceAll("/", "%2F");
  return encodeURIComponent(text).replace(/[!'()*]/g, percent);
}

const percent = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;

export function encodeQuery(query: Readonly<Record<string, string>>): string {
  let words = "";
  for (const name in query) words += `${words === "" ? "?" : "&"}${encodeText(name)}=${encodeText(query[name] ?? "")}`;
  return words;
}
