/** A graph that is laid out: where its nodes are, and where its lines pass. */
import type { GraphEdge } from "./nodes.ts";

/** The upper left corner of a node, and its column. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly column: number;
}

interface Line extends GraphEdge {
  /** The left sides of the nodes at its ends, and where it passes each column between them. */
  readonly points: readonly Point[];
  /** The same between its ends, as `y` of a node there. */
  readonly passed: readonly number[];
  /** Its box, to leave out lines that are not in view. */
  readonly box: Box;
}

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface Layout {
  readonly places: ReadonlyMap<string, Place>;
  readonly lines: readonly Line[];
  readonly width: number;
  readonly height: number;
  /** The number of nodes when it was laid out anew, without regard to what was before. */
  readonly laidFor: number;
}
