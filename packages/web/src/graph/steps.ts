/** Where the arrow keys lead from a node. */

import type { Layout } from "./laid-out.ts";
import type { Links } from "./nodes.ts";

export type Direction = "left" | "right" | "up" | "down";

/** What the directions mean in a graph that goes down. */
const turned = { left: "up", right: "down", up: "left", down: "right" } as const;

/** The nearest node before or after a node, or the one above or below it; undefined if there is none. */
export function step(from: string, towards: Direction, { places, shape }: Layout, links: Links): string | undefined {
  const here = places.get(from);
  if (!here) return undefined;
  const direction = shape.isDown ? turned[towards] : towards;
  const across = shape.isDown ? "x" : "y";
  const height = (id: string) => places.get(id)?.[across] ?? 0;
  const distance = (id: string) => Math.abs(height(id) - here[across]);
  const nearest = (ids: readonly string[]) =>
    ids.reduce<string | undefined>(
      (best, id) => (best === undefined || distance(id) < distance(best) ? id : best),
      undefined,
    );
  if (direction === "left") return nearest(links.before.get(from) ?? []);
  if (direction === "right") return nearest(links.after.get(from) ?? []);
  const column = [...places].filter(([id, place]) => id !== from && place.column === here.column).map(([id]) => id);
  return nearest(column.filter((id) => (direction === "up" ? height(id) < here[across] : height(id) > here[across])));
}
