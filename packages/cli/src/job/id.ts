/** Short forms of job ids. An id begins with the time of its job, so jobs of one hour begin alike; its end is random. */

/** What tables show on a terminal. */
export const shortId = (id: string) => id.slice(-8);

/** A reason as a table has room for it: the name of a job is enough there. */
export const withoutIds = (text: string) => text.replaceAll(/ \(job [0-9a-f-]{36}\)/g, "");

/** The least that may be typed of an id. */
export const leastOfId = 6;

/** Whether this is the beginning or the end of an id, in any letter case. */
export function isPartOfId(id: string, text: string): boolean {
  const part = text.toLowerCase();
  return id.startsWith(part) || id.endsWith(part);
}
