/** The order of the points within each column, with few crossings of edges: sweeps by barycentre, the best one wins. */
import type { Columns } from "./columns.ts";

const sweeps = 12;
/** After this many sweeps without a better order, more sweeps rarely find one. */
const patience = 4;

/** Returns the points of each column from top to bottom. */
export function orderOf(columns: Columns): number[][] {
  let best = firstOrder(columns);
  let fewest = crossings(columns, best);
  let current = best;
  for (let sweep = 0, found = 0; sweep < sweeps && sweep - found < patience && fewest > 0; sweep++) {
    current = swept(columns, current, sweep % 2 === 0);
    const count = crossings(columns, current);
    if (count < fewest) [best, fewest, found] = [current, count, sweep];
  }
  return best;
}

/** Points in the order in which a walk from the first column meets them, so that what belongs together stays so. */
function firstOrder({ ranks, left, right }: Columns): number[][] {
  const order: number[][] = Array.from({ length: ranks.reduce((most, rank) => Math.max(most, rank + 1), 0) }, () => []);
  const seen = ranks.map(() => false);
  const starts = ranks.map((_, point) => point).sort((a, b) => (ranks[a] ?? 0) - (ranks[b] ?? 0));
  for (const start of starts) {
    const stack = [start];
    for (let point = stack.pop(); point !== undefined; point = stack.pop()) {
      if (seen[point]) continue;
      seen[point] = true;
      order[ranks[point] ?? 0]?.push(point);
      stack.push(...[...(left[point] ?? []), ...(right[point] ?? [])].reverse());
    }
  }
  return order;
}

function swept({ ranks, left, right }: Columns, order: readonly number[][], toTheRight: boolean): number[][] {
  const place = placesIn(order, ranks.length);
  const sides = toTheRight ? left : right;
  const result = order.map((column) => [...column]);
  const centre = new Float64Array(ranks.length);
  for (const column of toTheRight ? result : [...result].reverse()) {
    for (const point of column) centre[point] = barycentre(sides[point] ?? [], place, place[point] ?? 0);
    column.sort((a, b) => (centre[a] ?? 0) - (centre[b] ?? 0));
    column.forEach((point, index) => {
      place[point] = index;
    });
  }
  return result;
}

function barycentre(points: readonly number[], place: readonly number[], otherwise: number): number {
  if (points.length === 0) return otherwise;
  let sum = 0;
  for (const point of points) sum += place[point] ?? 0;
  return sum / points.length;
}

function placesIn(order: readonly number[][], count: number): number[] {
  const place = new Array<number>(count).fill(0);
  for (const column of order)
    column.forEach((point, index) => {
      place[point] = index;
    });
  return place;
}

/** Counts pairs of edges that cross, in n log n: inversions, counted with a tree of sums. */
function crossings({ ranks, right }: Columns, order: readonly number[][]): number {
  const place = placesIn(order, ranks.length);
  let count = 0;
  for (let rank = 0; rank + 1 < order.length; rank++) {
    const ends = (order[rank] ?? []).flatMap((point) =>
      (right[point] ?? []).map((other) => place[other] ?? 0).sort((a, b) => a - b),
    );
    count += inversions(ends, order[rank + 1]?.length ?? 0);
  }
  return count;
}

function inversions(values: readonly number[], size: number): number {
  const sums = new Array<number>(size + 1).fill(0);
  let count = 0;
  values.forEach((value, seen) => {
    let notLarger = 0;
    for (let at = value + 1; at > 0; at -= at & -at) notLarger += sums[at] ?? 0;
    count += seen - notLarger;
    for (let at = value + 1; at <= size; at += at & -at) sums[at] = (sums[at] ?? 0) + 1;
  });
  return count;
}
