/** Counters by keys that strangers choose: however many there are, the memory for them has an end. */

/** Some megabytes. Whoever has more addresses than this has their own oldest entry forgotten. */
export const mostKeys = 20_000;

/** Sets an entry, as the newest; the oldest goes where there are too many. */
export function setBounded<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  if (map.size >= mostKeys) map.delete(map.keys().next().value ?? "");
  map.set(key, value);
}
