/** A node of a graph in SVG: datasets are rounded, jobs square, storages cylinders; a group is a stack. */
import { memo } from "react";
import { StatusPath, toneOf, wordOf } from "../look/status.tsx";
import { groupState } from "./group-state.ts";
import type { NodeOrGroup } from "./groups.ts";
import type { Place } from "./laid-out.ts";
import { nodeSize } from "./layout.ts";
import { leftOf, lettersIn } from "./node-width.ts";
import type { NodeKind } from "./nodes.ts";
import { shortTitle } from "./short-title.ts";

interface NodeShapeProps {
  readonly node: NodeOrGroup;
  readonly place: Place;
  readonly width: number;
  readonly selected: boolean;
  readonly dim: boolean;
  /** Too small to read: only the shape and the colour are drawn. */
  readonly far: boolean;
  readonly reachable: boolean;
}

function Shape({ node, place, width, selected, dim, far, reachable }: NodeShapeProps) {
  const { status, detail } = node.members ? groupState(node.members) : node;
  const words = [status && wordOf(status), detail].filter(Boolean).join(" · ");
  const looks = `${node.kind} ${status ? toneOf(status) : ""} ${dim ? "dim" : ""} ${selected ? "selected" : ""} ${far ? "far" : ""}`;
  // In SVG, Preact writes the names of attributes as they are: `tabIndex` would mean nothing.
  return (
    <g className={`spot ${looks}`} transform={`translate(${place.x} ${place.y})`} data-id={node.id}>
      <title>{words ? `${node.title}: ${words}` : node.title}</title>
      {/* biome-ignore lint/a11y/useSemanticElements: SVG has no button of its own */}
      <g
        className={`node ${looks}`}
        role="button"
        {...{ tabindex: reachable ? 0 : -1 }}
        aria-pressed={selected}
        aria-label={[kindWord[node.kind], node.title, words].filter(Boolean).join(", ")}
      >
        {node.members && <Outline kind={node.kind} width={width} shift={4} />}
        <Outline kind={node.kind} width={width} shift={0} />
      </g>
      {!far && <Words title={node.title} words={words} status={status} width={width} />}
    </g>
  );
}

const isSame = <T extends object>(a: T, b: T) => {
  const keys = Object.keys(b) as (keyof T)[];
  return keys.length === Object.keys(a).length && keys.every((key) => Object.is(a[key], b[key]));
};

/**
 * Drawn again only when something of it changes: a live graph changes a few nodes at a time, but every answer of the
 * server makes all nodes and places anew.
 */
export const NodeShape = memo(
  Shape,
  ({ node, place, ...looks }, { node: nextNode, place: nextPlace, ...nextLooks }) =>
    isSame(node, nextNode) && isSame(place, nextPlace) && isSame(looks, nextLooks),
);

const kindWord = { job: "Job", dataset: "Dataset", storage: "Storage" } as const;

const { height } = nodeSize;
const cylinder = (width: number) =>
  `M0 6a${width / 2} 6 0 0 1 ${width} 0v${height - 12}a${width / 2} 6 0 0 1 -${width} 0zM0 6a${width / 2} 6 0 0 0 ${width} 0`;

function Outline({ kind, width, shift }: { kind: NodeKind; width: number; shift: number }) {
  const transform = shift === 0 ? undefined : `translate(${shift} ${shift})`;
  if (kind === "storage") return <path className="outline" d={cylinder(width)} transform={transform} />;
  const radius = kind === "dataset" ? height / 2 : 2;
  return <rect className="outline" width={width} height={height} rx={radius} transform={transform} />;
}

interface WordsProps {
  readonly title: string;
  readonly words: string;
  readonly status: string | undefined;
  readonly width: number;
}

/** The words as they are drawn, perhaps cut. The label of the button beside them has them whole. */
function Words({ title, words, status, width }: WordsProps) {
  const left = leftOf(status);
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: the button is beside it, not in it
    <g className="drawn-words" aria-hidden="true">
      {status && (
        <g transform="translate(12 15)">
          <StatusPath tone={toneOf(status)} />
        </g>
      )}
      <text className="title" x={left} y={words ? 20 : 28}>
        {shortTitle(title, lettersIn(width, left, "title"))}
      </text>
      {words && (
        <text className="words" x={left} y={37}>
          {shortTitle(words, lettersIn(width, left, "words"))}
        </text>
      )}
    </g>
  );
}
