/** Compares keys by their UTF-8 bytes, the order in which stores list them. */

/**
 * Returns a negative number if `a` comes first, a positive number if `b` comes first. JavaScript's own comparison is by
 * UTF-16 units, which gives another order for characters beyond U+FFFF.
 */
export function compareKeys(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let index = 0; index < length; index += 1) {
    const x = a.charCodeAt(index);
    const y = b.charCodeAt(index);
    if (x !== y) return rank(x) - rank(y);
  }
  return a.length - b.length;
}

/**
 * Returns the rank of a UTF-16 unit. Surrogates rank after all other units, because they encode characters beyond
 * U+FFFF.
 */
const rank = (unit: number) => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit);

/** Returns the common prefix of both keys. */
export function commonStart(a: string, b: string): string {
  let index = 0;
  while (index < a.length && index < b.length && a[index] === b[index]) index += 1;
  return a.slice(0, index);
}
