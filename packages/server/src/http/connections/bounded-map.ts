/** Limits the size of maps whose keys come from callers, such as addresses, so that callers cannot fill the memory. */

/**
 * Maximum number of entries in a map, which then takes some megabytes. When a map is full, a new key displaces the
 * oldest entry.
 */
export const mostKeys = 20_000;

/** Sets an entry and makes it the newest one. If the map is full, deletes the oldest entry. */
export function setBounded<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  if (map.size >= mostKeys) map.delete(map.keys().next().value ?? "");
  map.set(key, value);
}
