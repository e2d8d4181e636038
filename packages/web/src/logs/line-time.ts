/** Times that a job wrote at the beginning of its lines. */
const iso = /^\[?(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2})(?:[.,](\d{1,9}))?\s?(Z|[+-]\d{2}:?\d{2})?(?=[\]\s|,:]|$)/;

/** Returns the time with which a text begins, in milliseconds; undefined if it begins with none. */
export function timeOf(text: string): number | undefined {
  const found = iso.exec(text);
  if (!found) return undefined;
  const [, day, time, fraction = "0", zone = ""] = found;
  const at = Date.parse(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, "0")}${zone}`);
  return Number.isNaN(at) ? undefined : at;
}
