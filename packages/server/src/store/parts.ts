/** Long lists in pieces: neither store takes any number of values in one statement. */

const atOnce = 500;

export function* parts<T>(values: readonly T[]): Generator<readonly T[]> {
  for (let start = 0; start < values.length; start += atOnce) yield values.slice(start, start + atOnce);
}
