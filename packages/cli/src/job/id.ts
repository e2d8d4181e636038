/**
 * Short forms of job ids. An id begins with its creation time, so ids of the same hour begin alike; its end is random.
 */

/** Returns the short form that tables show on a terminal. */
export const shortId = (id: string) => id.slice(-8);

/** Removes job ids from a reason, because a table has little space and shows the name of the job. */
export const withoutIds = (text: string) => text.replaceAll(/ \(job [0-9a-f-]{36}\)/g, "");

/** Minimum number of characters of a partial id. */
export const leastOfId = 6;

/** Tells whether the id begins or ends with the text, ignoring case. */
export function isPartOfId(id: string, text: string): boolean {
  const part = text.toLowerCase();
  return id.startsWith(part) || id.endsWith(part);
}
