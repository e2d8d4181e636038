/**
 * Decodes names of listing datasets. The datachain library caches the listing of a storage URI in a dataset whose name
 * is the encoded URI.
 */

const listing = /^lst__(?:current__)?/;
/**
 * Matches escaped characters. After `_x`, `_y` or `_z` comes a code point with 2, 4 or 6 hex digits. A doubled prefix
 * such as `_x_x` stands for `_x` itself.
 */
const encoded = /_y([0-9a-f]{4}|_y)|_z([0-9a-f]{6}|_z)|_x(_x|[0-9a-f]{2})/g;

/** Returns the storage URI that a dataset is the listing of; undefined if the dataset is not a listing. */
export function storageUri(namespace: string, project: string, name: string): string | undefined {
  if (namespace !== "system" || project !== "listing" || !listing.test(name)) return undefined;
  return name.replace(listing, "").replace(encoded, (mark, four?: string, six?: string, two?: string) => {
    const digits = four ?? six ?? two ?? "";
    if (digits.startsWith("_")) return mark.slice(0, 2);
    const code = Number.parseInt(digits, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : mark;
  });
}
