/** The order of a graph that has changed a little: as before, so that people find everything where it was. */
import type { Columns } from "./columns.ts";
import type { Layout } from "./layout.ts";
import type { GraphEdge } from "./nodes.ts";

/** If more than this part of the nodes is new, it is another graph. */
const mostNew = 0.1;

interface Graph {
  readonly ids: readonly string[];
  readonly edges: readonly GraphEdge[];
  readonly before: Layout;
  readonly nodeHeight: number;
}

/** Returns the points of each column from top to bottom; undefined if the graph has changed too much. */
export function keptOrder(columns: Columns, graph: Graph): number[][] | undefined {
  const { ids, before } = graph;
  const fresh = ids.filter((id) => !before.places.has(id)).length;
  if (fresh > mostNew * ids.length) return undefined;
  const heights = heightsBefore(columns, graph);
  const order: number[][] = Array.from(
    { length: columns.ranks.reduce((most, rank) => Math.max(most, rank + 1), 0) },
    () => [],
  );
  columns.ranks.forEach((rank, point) => void order[rank]?.push(point));
  for (const column of order) column.sort((a, b) => (heights[a] ?? 0) - (heights[b] ?? 0));
  return order;
}

/** Where each point was. A new node is near its neighbours; an edge with a new way goes straight. */
function heightsBefore(columns: Columns, graph: Graph): number[] {
  const { real, ranks, left, right } = columns;
  const middle = (id: string | undefined) => {
    const place = id === undefined ? undefined : graph.before.places.get(id);
    return place ? place.y + graph.nodeHeight / 2 : Number.NaN;
  };
  const heights = ranks.map((_, point) => middle(graph.ids[point]));
  for (let point = 0; point < real; point++) {
    if (!Number.isNaN(heights[point])) continue;
    const around = [...(left[point] ?? []), ...(right[point] ?? [])].map((other) => heights[other] ?? Number.NaN);
    heights[point] = mean(around.filter((height) => !Number.isNaN(height)));
  }
  passHeights(columns, graph, heights);
  return heights;
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);

/** Writes the heights of the points that long edges pass. */
function passHeights({ paths }: Columns, { edges, before }: Graph, heights: number[]): void {
  const ways = new Map(
    before.lines.filter(({ points }) => points.length > 2).map((line) => [keyOf(line), line.points]),
  );
  paths.forEach((path, index) => {
    const last = path.length - 1;
    if (last < 2) return;
    const way = ways.get(keyOf(edges[index] as GraphEdge));
    const [start, end] = [heights[path[0] ?? 0] ?? 0, heights[path[last] ?? 0] ?? 0];
    for (let step = 1; step < last; step++)
      heights[path[step] ?? 0] =
        way?.length === path.length ? (way[step]?.y ?? 0) : start + ((end - start) * step) / last;
  });
}

const keyOf = ({ from, to }: GraphEdge) => `${from} ${to}`;
