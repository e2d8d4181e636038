/** A graph of datasets, jobs and storages, left to right. A large one is grouped, and only what is in view is drawn. */
import { useState } from "react";
import { Button } from "../look/button.tsx";
import "./graph.css";
import { GraphList } from "./graph-list.tsx";
import type { GraphEdge, GraphNode } from "./nodes.ts";
import { Lines, Nodes, readable } from "./picture.tsx";
import { useKeys } from "./use-keys.ts";
import { usePicture } from "./use-picture.ts";
import { useView, type Viewing } from "./use-view.ts";

interface GraphProps {
  /** What the graph shows, for screen readers. */
  readonly label: string;
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** Id of the selected node; empty or undefined if none is. */
  readonly selected?: string | undefined;
  /** Called with the id of a node, or with the empty string when nothing is selected any more. */
  readonly onSelect?: (id: string) => void;
}

const none: ReadonlySet<string> = new Set();

export function Graph({ label, nodes, edges, selected = "", onSelect = () => {} }: GraphProps) {
  const [open, setOpen] = useState(none);
  const picture = usePicture(nodes, edges, open, selected);
  const [opened, setOpened] = useState("");
  const viewing = useView(picture.laid, opened || picture.centre);
  const openGroup = (members: readonly GraphNode[]) => {
    setOpen(new Set([...open, ...members.map(({ id }) => id)]));
    setOpened(members[0]?.id ?? "");
  };
  const keys = useKeys(picture, viewing, { selected, onSelect, openGroup });
  const { laid, near } = picture;
  const { x, y, scale } = viewing.view;
  return (
    <div>
      <div className="graph" ref={viewing.frame} style={{ height: `${frameHeight(laid.height)}px` }}>
        {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot hold a picture */}
        <svg
          role="group"
          aria-label={`${label}. Arrow keys move along the graph, space selects, Enter opens.`}
          {...keys.listeners}
        >
          <g transform={`translate(${x} ${y}) scale(${scale})`}>
            <Lines laid={laid} near={near} drawn={viewing.drawn} scale={scale} />
            <Nodes
              nodes={picture.nodes}
              laid={laid}
              near={near}
              drawn={viewing.drawn}
              far={scale < readable}
              active={keys.active}
              selected={selected}
            />
          </g>
        </svg>
      </div>
      <div className="graph-foot">
        <GraphList nodes={nodes} edges={edges} />
        <Tools viewing={viewing} regroup={open.size > 0 ? () => setOpen(none) : undefined} />
      </div>
    </div>
  );
}

const frameHeight = (graph: number) => Math.min(560, Math.max(150, graph + 60));

const Tools = ({ viewing, regroup }: { viewing: Viewing; regroup: (() => void) | undefined }) => (
  <div className="tools row">
    {regroup && <Button onClick={regroup}>Group again</Button>}
    <Button kind="bare" icon="minus" aria-label="Zoom out" title="Zoom out" onClick={() => viewing.zoom(1 / 1.4)} />
    <Button kind="bare" icon="plus" aria-label="Zoom in" title="Zoom in" onClick={() => viewing.zoom(1.4)} />
    <Button
      kind="bare"
      icon="fit"
      aria-label="Show the whole graph"
      title="Show the whole graph"
      onClick={viewing.fit}
    />
  </div>
);
