/**
 * The layout of a graph in columns, from left to right: a column for each node, an order in each column, a height.
 * Every step takes linear or n log n time: 1,000 nodes take milliseconds.
 */
import { columnsOf, neighboursOf } from "./columns.ts";
import { heightsOf, keptHeights } from "./heights.ts";
import { keptPlaces } from "./kept-places.ts";
import type { Box, Layout, Point } from "./laid-out.ts";
import type { GraphEdge } from "./nodes.ts";
import { orderOf } from "./order.ts";
import { ranksOf } from "./ranks.ts";

/** Size of a node, and the space between nodes. */
export const nodeSize = { width: 208, height: 46, between: 40, below: 18 } as const;

/** Lays a graph out. If it is much the same graph as `before`, it stays as much the same picture. */
export function layout(ids: readonly string[], edges: readonly GraphEdge[], before?: Layout): Layout {
  const number = new Map(ids.map((id, index) => [id, index]));
  const drawn = edges.filter(({ from, to }) => from !== to && number.has(from) && number.has(to));
  const ends = drawn.map(({ from, to }) => [number.get(from) ?? 0, number.get(to) ?? 0] as const);
  const columns = columnsOf(ends, ranksOf(neighboursOf(ids.length, ends)));
  const { width, height, between, below } = nodeSize;
  const distances = { node: height + below, passed: height / 2 + below };
  const kept = before && keptPlaces(columns, { ids, edges: drawn, before });
  const order = kept?.order ?? orderOf(columns);
  const middles = kept ? keptHeights(columns, order, distances, kept.heights) : heightsOf(columns, order, distances);
  const left = (point: number) => (columns.ranks[point] ?? 0) * (width + between);
  const middle = (point: number) => Math.round(middles[point] ?? 0) + height / 2;
  const places = new Map(
    ids.map((id, node) => [
      id,
      { x: left(node), y: middle(node) - height / 2, column: columns.ranks[node] ?? 0 } as const,
    ]),
  );
  const lines = drawn.map((edge, index) => {
    const points = (columns.paths[index] ?? []).map((point) => ({ x: left(point), y: middle(point) }));
    const passed = points.slice(1, -1).map(({ y }) => y - height / 2);
    return { from: edge.from, to: edge.to, points, passed, box: boxAround(points) };
  });
  return {
    places,
    lines,
    width: Math.max(0, order.length * (width + between) - between),
    height: ids.length === 0 ? 0 : middles.reduce((most, y) => Math.max(most, y), 0) + height,
    laidFor: kept && before ? before.laidFor : ids.length,
  };
}

/** The SVG path of a line. It leaves each point at its right side and enters the next one at its left side; both horizontally. */
export function pathThrough(points: readonly Point[]): string {
  const { width, between } = nodeSize;
  let path = "";
  for (let step = 1; step < points.length; step++) {
    const [a, b] = [points[step - 1] as Point, points[step] as Point];
    const x = a.x + width;
    path += step === 1 ? `M${x} ${a.y}` : `L${x} ${a.y}`;
    const bend = b.x > x ? (b.x - x) / 2 : between;
    path += `C${x + bend} ${a.y} ${b.x - bend} ${b.y} ${b.x} ${b.y}`;
  }
  return path;
}

function boxAround(points: readonly Point[]): Box {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { x, y } of points) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
  }
  return { left, right: right + nodeSize.width, top, bottom };
}
