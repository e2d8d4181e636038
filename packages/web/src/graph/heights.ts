/** The vertical place of each point: as near to its neighbours as the order and the distances in its column allow. */
import type { Columns } from "./columns.ts";

const sweeps = 8;
/** Points of long edges weigh more, so that long edges are straight. */
const weights = { node: 1, passed: 3, free: 0.01 };

export interface Distances {
  /** Between the middles of two nodes in a column. */
  readonly node: number;
  /** Between the middle of a point of a long edge and that of anything else. */
  readonly passed: number;
}

/** Returns the middle of each point. The smallest is 0. */
export function heightsOf(columns: Columns, order: readonly number[][], distances: Distances): number[] {
  const heights = new Array<number>(columns.ranks.length).fill(0);
  const offsets = order.map((column) => offsetsIn(column, columns.real, distances));
  order.forEach((column, rank) => {
    column.forEach((point, index) => {
      heights[point] = offsets[rank]?.[index] ?? 0;
    });
  });
  for (let sweep = 0; sweep < sweeps; sweep++) {
    const last = sweep >= sweeps - 2;
    const around = (point: number) =>
      last
        ? [...(columns.left[point] ?? []), ...(columns.right[point] ?? [])]
        : ((sweep % 2 === 0 ? columns.left : columns.right)[point] ?? []);
    for (let step = 0; step < order.length; step++) {
      const rank = sweep % 2 === 0 ? step : order.length - 1 - step;
      settle(order[rank] ?? [], offsets[rank] ?? [], heights, around, columns.real);
    }
  }
  const top = heights.reduce((least, height) => Math.min(least, height), Number.POSITIVE_INFINITY);
  return heights.map((height) => height - top);
}

/** Heights as they were, but for points that would be too near to one another then. */
export function keptHeights(
  columns: Columns,
  order: readonly number[][],
  distances: Distances,
  before: readonly number[],
): number[] {
  const heights = [...before];
  for (const column of order)
    settle(column, offsetsIn(column, columns.real, distances), heights, () => [], columns.real);
  const top = heights.reduce((least, height) => Math.min(least, height), 0);
  return top < 0 ? heights.map((height) => height - top) : heights;
}

function offsetsIn(column: readonly number[], real: number, { node, passed }: Distances): number[] {
  let offset = 0;
  return column.map((point, index) => {
    const above = column[index - 1];
    if (above !== undefined) offset += point < real && above < real ? node : passed;
    return offset;
  });
}

interface Block {
  sum: number;
  weight: number;
  count: number;
}

/**
 * Moves the points of one column as near as possible (least squares) to the mean of their neighbours. Without its
 * offset, a point may not be above the one before it; where the wishes contradict that, points share their mean.
 */
function settle(
  column: readonly number[],
  offsets: readonly number[],
  heights: number[],
  around: (point: number) => readonly number[],
  real: number,
): void {
  const blocks: Block[] = [];
  column.forEach((point, index) => {
    const others = around(point);
    const wish = others.length === 0 ? (heights[point] ?? 0) : mean(others, heights);
    const weight = others.length === 0 ? weights.free : point < real ? weights.node : weights.passed;
    blocks.push({ sum: (wish - (offsets[index] ?? 0)) * weight, weight, count: 1 });
    merge(blocks);
  });
  let index = 0;
  for (const { sum, weight, count } of blocks)
    for (let inBlock = 0; inBlock < count; inBlock++, index++)
      heights[column[index] ?? 0] = sum / weight + (offsets[index] ?? 0);
}

function merge(blocks: Block[]): void {
  for (let last = blocks.at(-1), above = blocks.at(-2); last && above; last = blocks.at(-1), above = blocks.at(-2)) {
    if (above.sum / above.weight <= last.sum / last.weight) return;
    blocks.pop();
    above.sum += last.sum;
    above.weight += last.weight;
    above.count += last.count;
  }
}

function mean(points: readonly number[], heights: readonly number[]): number {
  let sum = 0;
  for (const point of points) sum += heights[point] ?? 0;
  return sum / points.length;
}
