/** Names of listings: the library keeps what it found at a storage URI as a dataset whose name is that URI, encoded. */

const listing = /^lst__(?:current__)?/;
/** `_x` and two digits, `_y` and four, `_z` and six are characters; a mark that is doubled stands for itself. */
const encoded = /_y([0-9a-f]{4}|_y)|_z([0-9a-f]{6}|_z)|_x(_x|[0-9a-f]{2})/g;

/** The URI that a dataset is a listing of; undefined: it is none. */
export function storageUri(namespace: string, project: string, name: string): string | undefined {
  if (namespace !== "system" || project !== "listing" || !listing.test(name)) return undefined;
  return name.replace(listing, "").replace(encoded, (mark, four?: string, six?: string, two?: string) => {
    const digits = four ?? six ?? two ?? "";
    if (digits.startsWith("_")) return mark.slice(0, 2);
    const code = Number.parseInt(digits, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : mark;
  });
}
