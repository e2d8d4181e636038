/** How well an entry of the command palette fits what was typed. */

/** Returns a number that is smaller the better the text fits; undefined if it does not. Every word must be found. */
export function fit(text: string, typed: string): number | undefined {
  const whole = text.toLowerCase();
  let sum = 0;
  for (const word of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = whole.indexOf(word);
    if (at === -1) return undefined;
    const startsWord = at === 0 || /[^a-z0-9]/.test(whole.charAt(at - 1));
    sum += (startsWord ? 0 : 100) + at;
  }
  return sum;
}

/** Returns the items that fit, the best first. Items that fit alike keep their order. */
export function matching<T>(items: readonly T[], textOf: (item: T) => string, typed: string): T[] {
  return items
    .map((item) => ({ item, at: fit(textOf(item), typed) }))
    .filter((found): found is { item: T; at: number } => found.at !== undefined)
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
