/** Counts and sizes as people read them. */

const whole = new Intl.NumberFormat("en");

/** A number with separators: `12,345`. A dash if it is not known. */
export const countText = (count: number | null | undefined) => (count == null ? "–" : whole.format(count));

/** A number and its noun: `1 row`, `2 rows`. */
export const countOf = (count: number, noun: string) => `${countText(count)} ${noun}${count === 1 ? "" : "s"}`;

/** A size in bytes: `512 B`, `1.2 MB`. A dash if it is not known. */
export function bytesText(bytes: number | null | undefined): string {
  if (bytes == null) return "–";
  if (bytes < 1000) return `${bytes} B`;
  const power = Math.min(5, Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(1)} ${["B", "kB", "MB", "GB", "TB", "PB"][power]}`;
}
