/** The lineage of a version as a graph: storage leads to a job, a job to the versions that it made. */
import type { Lineage, LineageNode } from "@millrace/contract";
import type { GraphEdge, GraphNode } from "../graph/nodes.ts";

/** Returns the edges. An input leads to the job that read it; if no job is known, to the version itself. */
export function lineageEdges({ edges }: Pick<Lineage, "edges">): GraphEdge[] {
  const makers = new Map(edges.filter(({ kind }) => kind === "made").map(({ from, to }) => [to, from]));
  const drawn = edges.map(({ from, to, kind }) => ({ from, to: kind === "made" ? to : (makers.get(to) ?? to) }));
  return [...new Map(drawn.map((edge) => [`${edge.from} ${edge.to}`, edge])).values()];
}

/** The title of a node and what is said below it. */
export function lineageTitle({ kind, name, version, removed }: LineageNode): Pick<GraphNode, "title" | "detail"> {
  if (kind !== "dataset") return { title: name, detail: undefined };
  const dot = name.lastIndexOf(".");
  const place = name.slice(0, Math.max(0, dot));
  return { title: `${name.slice(dot + 1)}@${version}`, detail: removed ? `${place}, removed` : place };
}
