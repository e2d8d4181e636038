/** The same graph as a list, for those who cannot see the picture or prefer words. It is made when it is opened. */
import { useMemo, useState } from "react";
import { Link } from "wouter";
import { Button } from "../look/button.tsx";
import { wordOf } from "../look/status.tsx";
import { type GraphEdge, type GraphNode, linksOf } from "./nodes.ts";

interface GraphData {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
}

const step = 200;

export function GraphList({ nodes, edges }: GraphData) {
  const [open, setOpen] = useState(false);
  const [most, setMost] = useState(step);
  return (
    <details className="graph-list" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The graph as a list</summary>
      {open && <Items nodes={nodes} edges={edges} most={most} />}
      {open && nodes.length > most && (
        <Button onClick={() => setMost(most + step)}>{`Show ${Math.min(step, nodes.length - most)} more`}</Button>
      )}
    </details>
  );
}

function Items({ nodes, edges, most }: GraphData & { most: number }) {
  const links = useMemo(() => linksOf(nodes, edges), [nodes, edges]);
  const titles = new Map(nodes.map(({ id, title }) => [id, title]));
  const named = (ids: readonly string[] | undefined) => (ids ?? []).map((id) => titles.get(id) ?? id);
  return (
    <ul>
      {nodes.slice(0, most).map((node) => (
        <li key={node.id}>
          {node.href === undefined ? node.title : <Link href={node.href}>{node.title}</Link>}
          {` (${[node.kind, node.status && wordOf(node.status), node.detail].filter(Boolean).join(", ")})`}
          <Neighbours word="needs" names={named(links.before.get(node.id))} />
          <Neighbours word="needed by" names={named(links.after.get(node.id))} />
        </li>
      ))}
    </ul>
  );
}

const few = 5;

const Neighbours = ({ word, names }: { word: string; names: readonly string[] }) =>
  names.length === 0 ? null : (
    <span className="soft">{`; ${word} ${names.slice(0, few).join(", ")}${names.length > few ? ` and ${names.length - few} more` : ""}`}</span>
  );
