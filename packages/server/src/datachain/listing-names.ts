/** Decodes names of listing datasets: the datachain library caches the listing of a storage URI under the encoded URI. */

const listing = /^lst__(?:current__)?/;
/** Escapes: `_x`, `_y` and `_z` precede a code point of 2, 4 and 6 hex digits. A doubled prefix such as `_x_x` means `_x`. */
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
