/** Where the arrow keys lead from a node. */

import type { Layout } from "./laid-out.ts";
import type { Links } from "./nodes.ts";

export type Direction = "left" | "right" | "up" | "down";

/** The nearest node before or after a node, or the one above or below it; undefined if there is none. */
export function step(from: string, direction: Direction, { places }: Layout, links: Links): string | undefined {
  const here = places.get(from);
  if (!here) return undefined;
  const height = (id: string) => places.get(id)?.y ?? 0;
  const nearest = (ids: readonly string[]) =>
    ids.reduce<string | undefined>(
      (best, id) => (best === undefined || Math.abs(height(id) - here.y) < Math.abs(height(best) - here.y) ? id : best),
      undefined,
    );
  if (direction === "left") return nearest(links.before.get(from) ?? []);
  if (direction === "right") return nearest(links.after.get(from) ?? []);
  const column = [...places].filter(([id, place]) => id !== from && place.column === here.column).map(([id]) => id);
  return nearest(column.filter((id) => (direction === "up" ? height(id) < here.y : height(id) > here.y)));
}
