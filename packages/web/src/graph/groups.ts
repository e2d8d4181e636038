/**
 * Groups in large graphs: nodes with the same neighbours become one node, and so do parts of long chains. A failed node
 * is never hidden in a group.
 */
import { type GraphEdge, type GraphNode, type Links, linksOf } from "./nodes.ts";

export interface NodeOrGroup extends GraphNode {
  /** The nodes of a group, which is drawn as one. */
  readonly members?: readonly GraphNode[];
}

/** Graphs with more nodes than this are grouped. */
const mostSingle = 150;
/** Fewer nodes than this are not worth a group. */
const least = 4;

interface Grouping {
  readonly nodes: readonly NodeOrGroup[];
  readonly edges: readonly GraphEdge[];
}

/** Groups a large graph. A group that contains a node of `open` is left out. */
export function grouped(nodes: readonly GraphNode[], edges: readonly GraphEdge[], open: ReadonlySet<string>): Grouping {
  if (nodes.length <= mostSingle) return { nodes, edges };
  const links = linksOf(nodes, edges);
  const twins = collapse(nodes, edges, open, alike(nodes, links));
  const left = twins.nodes === nodes ? links : linksOf(twins.nodes, twins.edges);
  return collapse(twins.nodes, twins.edges, open, chains(twins.nodes, left));
}

/** With many failures, failed nodes are grouped too, but only with one another. */
const mostFailed = 20;

function alike(nodes: readonly NodeOrGroup[], { before, after }: Links): NodeOrGroup[][] {
  const failed = nodes.filter(({ status }) => status === "FAILED").length;
  const sets = new Map<string, NodeOrGroup[]>();
  // Without enough neighbours on the other side of each neighbour there cannot be enough nodes like this one.
  const isCommon = (ids: readonly string[], back: Links["before"]) =>
    ids.every((id) => (back.get(id)?.length ?? 0) >= least);
  for (const node of nodes) {
    if (node.status === "FAILED" && failed <= mostFailed) continue;
    if (!isCommon(before.get(node.id) ?? [], after) || !isCommon(after.get(node.id) ?? [], before)) continue;
    const around = [before, after].map((side) => [...(side.get(node.id) ?? [])].sort());
    const key = JSON.stringify([node.kind, node.status === "FAILED", ...around]);
    const set = sets.get(key);
    if (set) set.push(node);
    else sets.set(key, [node]);
  }
  return [...sets.values()];
}

/** Parts of chains: as many parts as nodes in a part, so that neither is too many. */
function chains(nodes: readonly NodeOrGroup[], { before, after }: Links): NodeOrGroup[][] {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const only = (ids: readonly string[] | undefined) => (ids?.length === 1 ? byId.get(ids[0] ?? "") : undefined);
  const fits = ({ members, status }: NodeOrGroup) => members === undefined && status !== "FAILED";
  const next = (node: NodeOrGroup) => {
    const child = only(after.get(node.id));
    return child && only(before.get(child.id)) && fits(child) && child.kind === node.kind ? child : undefined;
  };
  const inner = new Set(nodes.filter(fits).flatMap((node) => next(node)?.id ?? []));
  return nodes
    .filter((node) => fits(node) && !inner.has(node.id))
    .flatMap((start) => {
      const chain: NodeOrGroup[] = [];
      for (let node: NodeOrGroup | undefined = start; node; node = next(node)) chain.push(node);
      const size = Math.max(least, Math.ceil(Math.sqrt(chain.length)));
      return Array.from({ length: Math.ceil(chain.length / size) }, (_, part) =>
        chain.slice(part * size, (part + 1) * size),
      );
    });
}

function collapse(
  nodes: readonly NodeOrGroup[],
  edges: readonly GraphEdge[],
  open: ReadonlySet<string>,
  sets: readonly NodeOrGroup[][],
): Grouping {
  const groupOf = new Map<string, NodeOrGroup>();
  for (const members of sets) {
    const [first] = members;
    if (!first || members.length < least || members.some(({ id }) => open.has(id))) continue;
    const group = { id: `group:${first.id}`, kind: first.kind, title: titleOf(members), members };
    for (const { id } of members) groupOf.set(id, group);
  }
  if (groupOf.size === 0) return { nodes, edges };
  const idOf = (id: string) => groupOf.get(id)?.id ?? id;
  const kept = new Map<string, GraphEdge>();
  for (const { from, to } of edges) {
    const edge = { from: idOf(from), to: idOf(to) };
    if (edge.from !== edge.to) kept.set(`${edge.from} ${edge.to}`, edge);
  }
  return { nodes: [...new Set(nodes.map((node) => groupOf.get(node.id) ?? node))], edges: [...kept.values()] };
}

const plural = { job: "jobs", dataset: "datasets", storage: "storages" } as const;

const titleOf = (members: readonly NodeOrGroup[]) =>
  `${members.length.toLocaleString("en")} ${plural[members[0]?.kind ?? "job"]}`;
