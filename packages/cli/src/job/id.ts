/**
 * Short forms of job ids. An id begins with the creation time, so ids of the same hour begin alike; the end is random.
 */

/** The form that tables show on a terminal. */
export const shortId = (id: string) => id.slice(-8);

/** Removes job ids from a reason, since a table has little room and the job's name is enough. */
export const withoutIds = (text: string) => text.replaceAll(/ \(job [0-9a-f-]{36}\)/g, "");

/** The shortest part of an id that is accepted. */
export const leastOfId = 6;

/** Whether the id begins or ends with this text, ignoring case. */
export function isPartOfId(id: string, text: string): boolean {
  const part = text.toLowerCase();
  return id.startsWith(part) || id.endsWith(part);
}
