/** Sizes as people read them. */
const units = ["B", "kB", "MB", "GB", "TB", "PB"];

/** A number of bytes with three digits at most: `0 B`, `1.5 kB`, `24 MB`. */
export function bytes(count: number): string {
  let value = Math.max(0, count);
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit]}`;
}
