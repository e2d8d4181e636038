/** Percent-encoding as signatures want it: everything but letters, digits and `-._~`. */

/** Of a key in a path: its slashes stay. */
export const encodeKey = (key: string) => (/^[\w.~/-]*$/.test(key) ? key : key.split("/").map(encodeText).join("/"));

/** Most text needs nothing, and finding that out is cheaper than encoding it. */
export const encodeText = (text: string) =>
  /^[\w.~-]*$/.test(text) ? text : encodeURIComponent(text).replace(/[!'()*]/g, percent);

const percent = (letter: string) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`;

export function encodeQuery(query: Readonly<Record<string, string>>): string {
  const words = Object.entries(query).map(([name, value]) => `${encodeText(name)}=${encodeText(value)}`);
  return words.length === 0 ? "" : `?${words.join("&")}`;
}
