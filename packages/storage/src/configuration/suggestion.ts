/** Finds the known word nearest to a mistyped one. */

/** Returns `; did you mean x?`, or an empty text if no known word is similar. */
export function suggest(word: string, known: readonly string[]): string {
  const scored = known.map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate) }));
  const best = scored.toSorted((a, b) => a.distance - b.distance)[0];
  const near = best && best.distance <= Math.max(2, Math.floor(word.length / 3));
  return near ? `; did you mean ${best.candidate}?` : "";
}

/** Edit distance: how many letters must be added, removed or changed. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const change = (row[j - 1] as number) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] as number) + 1, (next[j - 1] as number) + 1));
    }
    row = next;
  }
  return row[to.length] as number;
}
