/** Graphs as data: what the screens pass to `<Graph>`. */

export type NodeKind = "dataset" | "job" | "storage";

export interface GraphNode {
  readonly id: string;
  readonly kind: NodeKind;
  readonly title: string;
  /** A state that look/status.tsx knows. */
  readonly status?: string | undefined;
  /** Where Enter and a double click lead. */
  readonly href?: string | undefined;
  /** A few words below the title, such as a duration. */
  readonly detail?: string | undefined;
}

/** `to` needs `from`. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
}

/** The nodes before and after each node. Edges from or to unknown nodes are left out. */
export interface Links {
  readonly before: ReadonlyMap<string, readonly string[]>;
  readonly after: ReadonlyMap<string, readonly string[]>;
}

export function linksOf(nodes: readonly { readonly id: string }[], edges: readonly GraphEdge[]): Links {
  const before = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  const after = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of edges) {
    if (from === to || !before.has(from) || !before.has(to)) continue;
    before.get(to)?.push(from);
    after.get(from)?.push(to);
  }
  return { before, after };
}

/** Everything upstream and downstream of a node, and the node itself. */
export function related({ before, after }: Links, id: string): Set<string> {
  return new Set([...reached(before, id), ...reached(after, id)]);
}

function reached(next: ReadonlyMap<string, readonly string[]>, from: string): Set<string> {
  const seen = new Set([from]);
  for (const id of seen) for (const other of next.get(id) ?? []) seen.add(other);
  return seen;
}
