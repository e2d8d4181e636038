/** What is selected in the lineage: what it is, its neighbours, and what can be done with it. */
import type { Lineage, LineageNode } from "@millrace/contract";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { type GraphEdge, linksOf } from "../graph/nodes.ts";
import { countOf, countText } from "../look/amount.ts";
import { Time } from "../look/time.tsx";
import { nodePath } from "../paths/lineage-paths.ts";
import { lineageTitle } from "./lineage-graph.ts";

interface SelectionProps {
  readonly lineage: Lineage;
  readonly edges: readonly GraphEdge[];
  readonly selected: string;
  readonly onSelect: (id: string) => void;
}

const kinds = { dataset: "Dataset version", job: "Job", storage: "Storage" } as const;

export function LineageSelection({ lineage, edges, selected, onSelect }: SelectionProps) {
  const team = useTeam();
  const node = lineage.nodes.find(({ id }) => id === selected);
  if (!node) return null;
  const links = linksOf(lineage.nodes, edges);
  const named = (ids: readonly string[] = []) => lineage.nodes.filter(({ id }) => ids.includes(id));
  return (
    <aside className="card stack tight" aria-label="Selection">
      <p className="soft small">{kinds[node.kind]}</p>
      <h2>
        <Link href={nodePath(team, node)}>{node.kind === "dataset" ? `${node.name}@${node.version}` : node.name}</Link>
      </h2>
      {node.removed && <p className="warn">Removed</p>}
      {node.kind === "dataset" && (
        <p className="soft">
          {node.num_objects == null ? "unknown number of rows" : countOf(node.num_objects, "row")}, created{" "}
          <Time at={node.created_at} />
        </p>
      )}
      <Neighbours title="Made from" nodes={named(links.before.get(node.id))} onSelect={onSelect} />
      <Neighbours title="Leads to" nodes={named(links.after.get(node.id))} onSelect={onSelect} />
    </aside>
  );
}

/** As many neighbours are listed; the graph has all. */
const most = 20;

interface NeighboursProps {
  readonly title: string;
  readonly nodes: readonly LineageNode[];
  readonly onSelect: (id: string) => void;
}

const Neighbours = ({ title, nodes, onSelect }: NeighboursProps) =>
  nodes.length === 0 ? null : (
    <>
      <h3>{title}</h3>
      <ul className="neighbours">
        {nodes.slice(0, most).map((node) => (
          <li key={node.id}>
            <button type="button" className="link" onClick={() => onSelect(node.id)}>
              {lineageTitle(node).title}
            </button>{" "}
            <span className="soft small">{node.kind}</span>
          </li>
        ))}
        {nodes.length > most && <li className="soft">and {countText(nodes.length - most)} more</li>}
      </ul>
    </>
  );
