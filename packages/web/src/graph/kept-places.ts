/** A graph that has changed a little stays as it was, so that people find everything where it was. */
import type { Columns } from "./columns.ts";
import type { Layout } from "./laid-out.ts";
import type { GraphEdge } from "./nodes.ts";

/** If more than this part of the nodes is new, it is another graph. */
const mostNew = 0.1;
/** If no more than this part of the nodes is left, gaps are closed. */
const leastLeft = 0.8;

interface Changed {
  readonly ids: readonly string[];
  readonly edges: readonly GraphEdge[];
  readonly before: Layout;
}

interface Kept {
  /** The points of each column from top to bottom. */
  readonly order: number[][];
  /** Where each point was. */
  readonly heights: number[];
}

/** Undefined if the graph has changed too much. */
export function keptPlaces(columns: Columns, changed: Changed): Kept | undefined {
  const { ids, before } = changed;
  const fresh = ids.filter((id) => !before.places.has(id)).length;
  if (fresh > mostNew * ids.length || ids.length <= leastLeft * before.laidFor) return undefined;
  const heights = heightsBefore(columns, changed);
  const count = columns.ranks.reduce((most, rank) => Math.max(most, rank + 1), 0);
  const order: number[][] = Array.from({ length: count }, () => []);
  columns.ranks.forEach((rank, point) => void order[rank]?.push(point));
  for (const column of order) column.sort((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0));
  return { order, heights };
}

/** A new node is near its neighbours; an edge with a new way goes straight. */
function heightsBefore(columns: Columns, changed: Changed): number[] {
  const { real, ranks, left, right } = columns;
  const { places, shape } = changed.before;
  const across = shape.isDown ? "x" : "y";
  const heights = ranks.map((_, point) => places.get(changed.ids[point] ?? "")?.[across] ?? Number.NaN);
  for (let point = 0; point < real; point++) {
    if (!Number.isNaN(heights[point])) continue;
    const around = [...(left[point] ?? []), ...(right[point] ?? [])].map((other) => heights[other] ?? Number.NaN);
    heights[point] = mean(around.filter((height) => !Number.isNaN(height)));
  }
  passHeights(columns, changed, heights);
  return heights;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Writes the heights of the points that long edges pass. */
function passHeights({ paths }: Columns, { edges, before }: Changed, heights: number[]): void {
  const long = before.lines.filter(({ passed }) => passed.length > 0);
  const ways = new Map(long.map((line) => [keyOf(line), line.passed]));
  paths.forEach((path, index) => {
    const last = path.length - 1;
    if (last < 2) return;
    const way = ways.get(keyOf(edges[index] as GraphEdge));
    const [start, end] = [heights[path[0] ?? 0] ?? 0, heights[path[last] ?? 0] ?? 0];
    for (let step = 1; step < last; step++)
      heights[path[step] ?? 0] =
        way?.length === last - 1 ? (way[step - 1] ?? 0) : start + ((end - start) * step) / last;
  });
}

const keyOf = ({ from, to }: GraphEdge) => `${from} ${to}`;
