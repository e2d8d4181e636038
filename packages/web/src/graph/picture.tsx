/** The lines and nodes of a graph that are in view. */
import { memo } from "react";
import { NodeShape } from "./node-shape.tsx";
import type { Picture } from "./use-picture.ts";
import type { Viewing } from "./use-view.ts";
import { boxOf, overlaps } from "./view.ts";

/** Below this scale words are too small to read. */
const readable = 0.4;

/** Lines stay visible from far away. */
const lineWidth = (scale: number) => Math.max(1.5, 0.6 / scale);

export const Lines = ({ picture: { laid, near }, viewing }: { picture: Picture; viewing: Viewing }) => (
  <g strokeWidth={lineWidth(viewing.view.scale)}>
    {laid.lines
      .filter(({ box }) => overlaps(box, viewing.drawn))
      .map(({ from, to, path }) => (
        <GraphLine key={`${from} ${to}`} path={path} dim={near !== undefined && !(near.has(from) && near.has(to))} />
      ))}
  </g>
);

const GraphLine = memo(function GraphLine({ path, dim }: { path: string; dim: boolean }) {
  return <path className={dim ? "line dim" : "line"} d={path} />;
});

interface NodesProps {
  readonly picture: Picture;
  readonly viewing: Viewing;
  readonly active: string;
  readonly selected: string;
}

export const Nodes = ({ picture: { nodes, laid, near }, viewing, active, selected }: NodesProps) => (
  <g>
    {nodes.map((node) => {
      const place = laid.places.get(node.id);
      // The node with the focus is drawn even out of view, so that the focus is not lost.
      if (!place || (node.id !== active && !overlaps(boxOf(place), viewing.drawn))) return null;
      return (
        <NodeShape
          key={node.id}
          node={node}
          place={place}
          selected={node.id === selected}
          dim={near !== undefined && !near.has(node.id)}
          far={viewing.view.scale < readable}
          reachable={node.id === active}
        />
      );
    })}
  </g>
);
