/**
 * Short forms of job ids. The beginning of an id is the time of its creation, which many ids share. The end is random,
 * so the short form is the end.
 */

/** Returns the short form that tables show on a terminal. */
export const shortId = (id: string) => id.slice(-8);

/** Removes job ids from a text for a table, where space is scarce and another column shows the name of the job. */
export const withoutIds = (text: string) => text.replaceAll(/ \(job [0-9a-f-]{36}\)/g, "");

/** Minimum length, in characters, of the part of an id that a user may type. */
export const leastOfId = 6;

/** Tells whether the id begins or ends with the text, ignoring case. */
export function isPartOfId(id: string, text: string): boolean {
  const part = text.toLowerCase();
  return id.startsWith(part) || id.endsWith(part);
}
