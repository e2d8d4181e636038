/** Draws the lineage of a dataset version as two trees: its inputs, and the versions that were created from it. */
import type { Lineage, LineageNode } from "@millrace/contract";

type Direction = "upstream" | "downstream";

/** Returns the lines of one tree per direction; a direction without nodes gets no lines. */
export function lineageLines(lineage: Lineage, directions: readonly Direction[]): string[] {
  const root = lineage.nodes.find(({ id }) => id === lineage.root);
  if (!root) return [];
  const trees = directions.flatMap((direction) => {
    const lines = branches(new Graph(lineage, direction), lineage.root, "", new Set([lineage.root]));
    const title = direction === "upstream" ? "made from" : "used by";
    return lines.length > 0 ? [title, ...lines] : [];
  });
  return [label(root, makerOf(lineage, root.id)), ...trees];
}

class Graph {
  readonly nodes: ReadonlyMap<string, LineageNode>;
  readonly lineage: Lineage;
  readonly #next: ReadonlyMap<string, readonly string[]>;

  constructor(lineage: Lineage, direction: Direction) {
    this.lineage = lineage;
    this.nodes = new Map(lineage.nodes.map((node) => [node.id, node]));
    const next = new Map<string, string[]>();
    for (const { from, to, kind } of lineage.edges) {
      const [start, end] = direction === "upstream" ? [to, from] : [from, to];
      if (kind === "input") next.set(start, [...(next.get(start) ?? []), end]);
    }
    this.#next = next;
  }

  /**
   * Returns the nodes that are one step from a node in the direction of this graph. They are sorted by name, so that
   * the same graph is always drawn the same way.
   */
  after(id: string): LineageNode[] {
    const found = (this.#next.get(id) ?? []).flatMap((next) => this.nodes.get(next) ?? []);
    return found.sort((a, b) => (label(a, "") < label(b, "") ? -1 : 1));
  }
}

/** Returns the lines below a node. A version that occurs several times is expanded only the first time. */
function branches(graph: Graph, id: string, indent: string, drawn: Set<string>): string[] {
  const nodes = graph.after(id);
  return nodes.flatMap((node, index) => {
    const isLast = index === nodes.length - 1;
    const isRepeated = drawn.has(node.id) && graph.after(node.id).length > 0;
    drawn.add(node.id);
    const line = `${indent}${isLast ? "└─ " : "├─ "}${label(node, makerOf(graph.lineage, node.id))}`;
    if (isRepeated) return [`${line} (above)`];
    return [line, ...branches(graph, node.id, `${indent}${isLast ? "   " : "│  "}`, drawn)];
  });
}

const makerOf = ({ edges }: Lineage, id: string) =>
  edges.find(({ to, kind }) => to === id && kind === "made")?.from ?? "";

function label({ kind, name, version, removed }: LineageNode, job: string): string {
  if (kind !== "dataset") return name;
  return `${name}@${version}${removed ? " (removed)" : ""}${job ? `  job ${job}` : ""}`;
}
