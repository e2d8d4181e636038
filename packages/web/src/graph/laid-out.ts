/** A graph that is laid out: where its nodes are, and where its lines pass. */
import type { GraphEdge } from "./nodes.ts";

/** How a graph is drawn: the width of all its nodes, and whether it goes down, as on a phone, or to the right. */
export interface Shape {
  readonly width: number;
  readonly isDown: boolean;
}

/** The upper left corner of a node, and its column; in a graph that goes down, its row. */
export interface Place {
  readonly x: number;
  readonly y: number;
  readonly column: number;
}

interface Line extends GraphEdge {
  /** The left or upper sides of the nodes at its ends, and where it passes each column between them. */
  readonly points: readonly Point[];
  /** The same between its ends, as `y` of a node there; in a graph that goes down, as `x`. */
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
  readonly shape: Shape;
  /** The number of nodes when it was laid out anew, without regard to what was before. */
  readonly laidFor: number;
}
