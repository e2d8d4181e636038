/** What part of a graph is in view: a place on the screen is `place * scale + (x, y)`. */
import type { Box, Layout, Place } from "./laid-out.ts";
import { nodeSize } from "./layout.ts";

export interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

const margin = 14;
/** A graph begins at `readable`, or smaller, down to `whole`, if nothing is cut off then. */
const scales = { least: 0.02, most: 1.5, readable: 0.8, whole: 0.58 } as const;

const within = (value: number, least: number, most: number) => Math.min(most, Math.max(least, value));

/** The view that shows the whole graph, in the middle. */
export function fitted(graph: Size, frame: Size): View {
  const wide = (frame.width - 2 * margin) / Math.max(1, graph.width);
  const high = (frame.height - 2 * margin) / Math.max(1, graph.height);
  const scale = within(Math.min(wide, high), scales.least, 1);
  return { scale, x: (frame.width - graph.width * scale) / 2, y: (frame.height - graph.height * scale) / 2 };
}

/** Tells whether the whole graph can be read in the frame. */
export const fits = (graph: Size, frame: Size) => fitted(graph, frame).scale >= scales.whole;

/** The view that a graph begins with: all of it if it can be read then, otherwise the part around `centre`. */
export function firstView(graph: Size, frame: Size, centre: Place | undefined): View {
  if (fits(graph, frame)) return fitted(graph, frame);
  const scale = scales.readable;
  const middle = {
    x: centre ? centre.x + nodeSize.width / 2 : frame.width / 2 / scale - margin,
    y: centre ? centre.y + nodeSize.height / 2 : graph.height / 2,
  };
  return {
    scale,
    x: offset(frame.width, graph.width * scale, middle.x * scale),
    y: offset(frame.height, graph.height * scale, middle.y * scale),
  };
}

/** Puts `middle` in the middle of the frame, but shows no more empty space than there must be. */
function offset(frame: number, graph: number, middle: number): number {
  if (graph + 2 * margin <= frame) return (frame - graph) / 2;
  return within(frame / 2 - middle, frame - margin - graph, margin);
}

/** Zooms so that the place at `at`, in the frame, stays where it is. */
export function zoomed(view: View, factor: number, at: { readonly x: number; readonly y: number }): View {
  const scale = within(view.scale * factor, scales.least, scales.most);
  const ratio = scale / view.scale;
  return { scale, x: at.x - (at.x - view.x) * ratio, y: at.y - (at.y - view.y) * ratio };
}

/** Moves the view as little as needed to show a whole node. */
export function revealed(view: View, place: Place, frame: Size): View {
  const shift = (from: number, size: number, most: number) => {
    const end = from + size;
    if (from < margin) return margin - from;
    return end > most - margin ? Math.max(margin - from, most - margin - end) : 0;
  };
  const x = shift(place.x * view.scale + view.x, nodeSize.width * view.scale, frame.width);
  const y = shift(place.y * view.scale + view.y, nodeSize.height * view.scale, frame.height);
  return x === 0 && y === 0 ? view : { ...view, x: view.x + x, y: view.y + y };
}

type Places = Layout["places"];

/**
 * The view of a graph that has changed: of the nodes in view, the one that is nearest to the middle stays where it is.
 * Undefined if no node in view is left.
 */
export function carried(view: View, frame: Size, before: Places, after: Places): View | undefined {
  const seen = boxInView(view, frame);
  const [middleX, middleY] = [(seen.left + seen.right) / 2, (seen.top + seen.bottom) / 2];
  let nearest = Number.POSITIVE_INFINITY;
  let result: View | undefined;
  for (const [id, old] of before) {
    const distance = Math.hypot(old.x + nodeSize.width / 2 - middleX, old.y + nodeSize.height / 2 - middleY);
    if (distance >= nearest || !overlaps(boxOf(old), seen)) continue;
    const place = after.get(id);
    if (!place) continue;
    nearest = distance;
    const { x, y, scale } = view;
    result = { scale, x: x + (old.x - place.x) * scale, y: y + (old.y - place.y) * scale };
  }
  return result;
}

/** The part of the graph that the frame shows, and `around` times the frame on each side. */
export function boxInView(view: View, frame: Size, around = 0): Box {
  const [width, height] = [frame.width / view.scale, frame.height / view.scale];
  const [left, top] = [-view.x / view.scale, -view.y / view.scale];
  return {
    left: left - around * width,
    top: top - around * height,
    right: left + (1 + around) * width,
    bottom: top + (1 + around) * height,
  };
}

export const overlaps = (a: Box, b: Box) =>
  a.left <= b.right && b.left <= a.right && a.top <= b.bottom && b.top <= a.bottom;

export const contains = (outer: Box, inner: Box) =>
  outer.left <= inner.left && outer.top <= inner.top && outer.right >= inner.right && outer.bottom >= inner.bottom;

export const boxOf = ({ x, y }: Place): Box => ({
  left: x,
  top: y,
  right: x + nodeSize.width,
  bottom: y + nodeSize.height,
});
