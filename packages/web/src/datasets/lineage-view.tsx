/** Where a version comes from and what was made from it: storages, jobs and datasets. */
import { type Lineage, type LineageNode, lineageDirections, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { Graph } from "../graph/graph.tsx";
import { countOf } from "../look/amount.ts";
import { useNow } from "../look/clock.ts";
import { Choice } from "../look/field.tsx";
import { relativeTime } from "../look/relative-time.ts";
import { Empty, Read } from "../look/states.tsx";
import { nodePath } from "../paths/lineage-paths.ts";
import { lineageEdges, lineageTitle } from "./lineage-graph.ts";
import { LineageSelection } from "./lineage-selection.tsx";
import type { Shown } from "./shown.ts";

const words = {
  both: "inputs and outputs",
  upstream: "what it was made from",
  downstream: "what was made from it",
} as const;

type Direction = (typeof lineageDirections)[number];

const isDirection = (text: string): text is Direction => (lineageDirections as readonly string[]).includes(text);

export function LineageView({ version }: Shown) {
  const [wanted, setDirection] = useUrlState("direction", "both");
  const direction = isDirection(wanted) ? wanted : "both";
  const found = useApi(routes.getLineage, { query: { uuid: version.uuid, direction, depth: 20 } });
  return (
    <>
      <div className="beside">
        <Choice label="Show" value={direction} onText={setDirection}>
          {lineageDirections.toReversed().map((one) => (
            <option key={one} value={one}>
              {words[one]}
            </option>
          ))}
        </Choice>
      </div>
      <Read from={found}>{(lineage) => <Picture lineage={lineage} />}</Read>
    </>
  );
}

/** How large and how old a version is, in the few words that a node has place for. */
function factsOf({ id, removed, num_objects, created_at }: LineageNode, root: string, now: number): string {
  const age = created_at == null ? "" : relativeTime(Date.parse(created_at), now);
  const rows = num_objects == null ? "" : countOf(num_objects, "row");
  return [id === root && "this version", removed && "removed", rows, id !== root && age].filter(Boolean).join(" · ");
}

function Picture({ lineage }: { lineage: Lineage }) {
  const team = useTeam();
  const [selected, select] = useUrlState("node");
  const now = useNow(false);
  if (lineage.edges.length === 0)
    return (
      <Empty title="No lineage">
        <p>No job, storage or other dataset is known from which this version was made, and nothing was made from it.</p>
      </Empty>
    );
  const edges = lineageEdges(lineage);
  const nodes = lineage.nodes.map((node) => {
    const { title, detail } = lineageTitle(node);
    const facts = factsOf(node, lineage.root, now);
    return {
      id: node.id,
      kind: node.kind,
      title,
      detail: facts || detail,
      href: nodePath(team, node),
    };
  });
  return (
    <>
      {lineage.truncated && (
        <p className="warn">There is more than this: only 20 steps and 5,000 inputs in each direction are shown.</p>
      )}
      <div className="lineage">
        <Graph label="Lineage" nodes={nodes} edges={edges} selected={selected || lineage.root} onSelect={select} />
        <LineageSelection lineage={lineage} edges={edges} selected={selected || lineage.root} onSelect={select} />
      </div>
    </>
  );
}
