/** Where a version comes from and what was made from it: storages, jobs and datasets. */
import { type Lineage, lineageDirections, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { Graph } from "../graph/graph.tsx";
import { Choice } from "../look/field.tsx";
import { Empty, Read } from "../look/states.tsx";
import { nodePath } from "../paths/lineage-paths.ts";
import { lineageEdges, lineageTitle } from "./lineage-graph.ts";
import { LineageSelection } from "./lineage-selection.tsx";
import type { Shown } from "./shown.ts";

const words = { both: "both ways", upstream: "what it was made from", downstream: "what was made from it" } as const;

type Direction = (typeof lineageDirections)[number];

const isDirection = (text: string): text is Direction => (lineageDirections as readonly string[]).includes(text);

export function LineageView({ version }: Shown) {
  const [wanted, setDirection] = useUrlState("direction", "both");
  const direction = isDirection(wanted) ? wanted : "both";
  const found = useApi(routes.getLineage, { query: { uuid: version.uuid, direction, depth: 20 } });
  return (
    <>
      <div className="compare">
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

function Picture({ lineage }: { lineage: Lineage }) {
  const team = useTeam();
  const [selected, select] = useUrlState("node");
  if (lineage.edges.length === 0)
    return (
      <Empty title="No lineage">
        <p>No job, storage or other dataset is known from which this version was made, and nothing was made from it.</p>
      </Empty>
    );
  const edges = lineageEdges(lineage);
  const nodes = lineage.nodes.map((node) => {
    const { title, detail } = lineageTitle(node);
    const isHere = node.id === lineage.root;
    return {
      id: node.id,
      kind: node.kind,
      title,
      detail: isHere ? "this version" : detail,
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
