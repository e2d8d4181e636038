/** What a graph draws: nodes or groups of nodes, their places, and what is related to the selected node. */
import { useMemo, useRef } from "react";
import { toneOf } from "../look/status.tsx";
import { useNarrow } from "../look/use-narrow.ts";
import { grouped, type NodeOrGroup } from "./groups.ts";
import type { Layout } from "./laid-out.ts";
import { layout } from "./layout.ts";
import { widthFor } from "./node-width.ts";
import { type GraphEdge, type GraphNode, type Links, linksOf, related } from "./nodes.ts";

export interface Picture {
  readonly nodes: readonly NodeOrGroup[];
  readonly laid: Layout;
  readonly links: Links;
  /** Ids of what is up- and downstream of the selected node; undefined if none is selected. */
  readonly near: ReadonlySet<string> | undefined;
  /** Id of the node around which a large graph begins: the selected one, or the first that failed or runs. */
  readonly centre: string;
}

export function usePicture(
  nodes: readonly GraphNode[],
  edges: readonly GraphEdge[],
  open: ReadonlySet<string>,
  selected: string,
): Picture {
  const shown = useMemo(
    () => grouped(nodes, edges, selected ? new Set([...open, selected]) : open),
    [nodes, edges, open, selected],
  );
  const laid = useLayout(shown.nodes, shown.edges);
  const links = useMemo(() => linksOf(shown.nodes, shown.edges), [shown]);
  const near = useMemo(() => (links.before.has(selected) ? related(links, selected) : undefined), [links, selected]);
  const centre = links.before.has(selected) ? selected : (urgent(shown.nodes) ?? "");
  return { nodes: shown.nodes, laid, links, near, centre };
}

interface Laid {
  readonly ids: readonly string[];
  readonly edges: readonly GraphEdge[];
  readonly width: number;
  readonly isNarrow: boolean;
  readonly laid: Layout;
}

/** Lays the graph out anew only if its nodes or edges change, not when states do. */
function useLayout(nodes: readonly NodeOrGroup[], edges: readonly GraphEdge[]): Layout {
  const last = useRef<Laid | undefined>(undefined);
  const isNarrow = useNarrow();
  return useMemo(() => {
    const ids = nodes.map(({ id }) => id);
    const width = widthFor(nodes);
    const before = last.current;
    const isSameFrame = before?.width === width && before.isNarrow === isNarrow;
    if (before && isSameFrame && sameIds(before.ids, ids) && sameEdges(before.edges, edges)) return before.laid;
    const laid = laidOut(ids, edges, width, isSameFrame ? before?.laid : undefined, isNarrow);
    last.current = { ids, edges, width, isNarrow, laid };
    return laid;
  }, [nodes, edges, isNarrow]);
}

/** To the right; on a phone downwards, if less of it is out of view then. */
function laidOut(
  ids: readonly string[],
  edges: readonly GraphEdge[],
  width: number,
  before: Layout | undefined,
  isNarrow: boolean,
): Layout {
  const right = layout(ids, edges, before, { width, isDown: false });
  if (!isNarrow) return right;
  const down = layout(ids, edges, before, { width, isDown: true });
  return down.width <= right.width ? down : right;
}

const sameIds = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((id, index) => id === b[index]);

const sameEdges = (a: readonly GraphEdge[], b: readonly GraphEdge[]) =>
  a.length === b.length && a.every(({ from, to }, index) => from === b[index]?.from && to === b[index]?.to);

const urgent = (nodes: readonly NodeOrGroup[]) =>
  (["bad", "run"] as const)
    .map((tone) => nodes.find(({ status }) => status !== undefined && toneOf(status) === tone)?.id)
    .find((id) => id !== undefined);
