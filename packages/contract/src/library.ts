/** Versions of the dataset library: `datachain` on PyPI. */

/**
 * The oldest supported version of the library. Older versions create tables without some columns that the server reads.
 * docs/library.md lists the tested versions.
 */
export const oldestLibrary = "0.56.1";

const numbersOf = (version: string): number[] => version.split(".").map((part) => Number.parseInt(part, 10) || 0);

/**
 * Compares two versions such as 0.34.1. Returns a negative number if the first is older, 0 if they are equal, and a
 * positive number if the first is newer. Missing parts count as 0.
 */
export function compareReleases(one: string, other: string): number {
  const [first, second] = [numbersOf(one), numbersOf(other)];
  const length = Math.max(first.length, second.length);
  const at = Array.from({ length }, (_, i) => (first[i] ?? 0) - (second[i] ?? 0)).find(
    (difference) => difference !== 0,
  );
  return at ?? 0;
}

export const isTooOldLibrary = (version: string): boolean => compareReleases(version, oldestLibrary) < 0;
