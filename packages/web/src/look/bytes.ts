/** Sizes as people read them, in the units of the settings and of the command line. */
const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** A number of bytes: `0 B`, `1.5 KiB`, `24 MiB`. */
export function bytes(count: number): string {
  let value = Math.max(0, count);
  let unit = 0;
  while (value >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${units[unit]}`;
}
