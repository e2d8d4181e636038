/** Scales of plots. */

/** Returns a round number at or above the value: 1, 2 or 5 times a power of ten. Zero and less become 1. */
export function roundUp(value: number): number {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10;
  return step * power;
}

/** The same in the units of sizes: so many bytes, KiB or MiB. */
export function roundUpBytes(value: number): number {
  const unit = 1024 ** Math.max(0, Math.floor(Math.log2(Math.max(1, value)) / 10));
  return roundUp(value / unit) * unit;
}

/**
 * Returns at most `most` points of a series. Of each run of neighbours, the lowest and the highest point stay, so that
 * no peak is lost.
 */
export function thin<P extends { readonly value: number }>(points: readonly P[], most: number): readonly P[] {
  if (points.length <= most) return points;
  const size = Math.ceil((2 * points.length) / most);
  const kept: P[] = [];
  for (let start = 0; start < points.length; start += size) {
    const run = points.slice(start, start + size);
    const low = run.reduce((a, b) => (b.value < a.value ? b : a));
    const high = run.reduce((a, b) => (b.value > a.value ? b : a));
    if (low === high) kept.push(low);
    else kept.push(...(run.indexOf(low) < run.indexOf(high) ? [low, high] : [high, low]));
  }
  return kept;
}
