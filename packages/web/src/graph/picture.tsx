/** The lines and nodes of a graph that are in view. */
import { memo } from "react";
import type { Box, Layout } from "./laid-out.ts";
import { pathThrough } from "./layout.ts";
import { NodeShape } from "./node-shape.tsx";
import type { Picture } from "./use-picture.ts";
import { boxOf, overlaps } from "./view.ts";

/** Below this scale words are too small to read. */
export const readable = 0.4;

/** Lines stay visible from far away. */
const lineWidth = (scale: number) => Math.max(1.5, 0.6 / scale);

interface LinesProps {
  readonly laid: Layout;
  readonly near: Picture["near"];
  readonly drawn: Box;
  readonly scale: number;
}

/** Lines and nodes are looked through only when what is drawn changes, not while the view moves. */
export const Lines = memo(function Lines({ laid, near, drawn, scale }: LinesProps) {
  return (
    <g strokeWidth={lineWidth(scale)}>
      {laid.lines
        .filter(({ box }) => overlaps(box, drawn))
        .map((line) => (
          <GraphLine
            key={`${line.from} ${line.to}`}
            path={pathThrough(line.points, laid.shape)}
            dim={near !== undefined && !(near.has(line.from) && near.has(line.to))}
          />
        ))}
    </g>
  );
});

const GraphLine = memo(function GraphLine({ path, dim }: { path: string; dim: boolean }) {
  return <path className={dim ? "line dim" : "line"} d={path} />;
});

interface NodesProps {
  readonly nodes: Picture["nodes"];
  readonly laid: Layout;
  readonly near: Picture["near"];
  readonly drawn: Box;
  /** Too far away to read words. */
  readonly far: boolean;
  readonly active: string;
  readonly selected: string;
}

export const Nodes = memo(function Nodes({ nodes, laid, near, drawn, far, active, selected }: NodesProps) {
  return (
    <g>
      {nodes.map((node) => {
        const place = laid.places.get(node.id);
        // The node with the focus is drawn even out of view, so that the focus is not lost.
        if (!place || (node.id !== active && !overlaps(boxOf(place), drawn))) return null;
        return (
          <NodeShape
            key={node.id}
            node={node}
            place={place}
            width={laid.shape.width}
            selected={node.id === selected}
            dim={near !== undefined && !near.has(node.id)}
            far={far}
            reachable={node.id === active}
          />
        );
      })}
    </g>
  );
});
