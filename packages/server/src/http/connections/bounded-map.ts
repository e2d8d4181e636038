/** Bounds maps whose keys callers choose, such as addresses, so that their memory stays limited. */

/**
 * Maximum number of entries, some megabytes. A caller with more addresses than this only displaces the oldest entries.
 */
export const mostKeys = 20_000;

/** Sets an entry as the newest, and deletes the oldest entry if there are too many. */
export function setBounded<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  if (map.size >= mostKeys) map.delete(map.keys().next().value ?? "");
  map.set(key, value);
}
