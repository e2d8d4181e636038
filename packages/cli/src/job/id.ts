/**
 * Short forms of job ids. An id begins with the time of its creation, so ids of the same hour begin alike. Its end is
 * random, so the short form is the end.
 */

/** Returns the short form that tables show on a terminal. */
export const shortId = (id: string) => id.slice(-8);

/** Removes job ids from a text for a table: space is scarce there, and the table shows the name of the job. */
export const withoutIds = (text: string) => text.replaceAll(/ \(job [0-9a-f-]{36}\)/g, "");

/** Minimum length, in characters, of the part of an id that a user may type. */
export const leastOfId = 6;

/** Tells whether the id begins or ends with the text, ignoring case. */
export function isPartOfId(id: string, text: string): boolean {
  const part = text.toLowerCase();
  return id.startsWith(part) || id.endsWith(part);
}
