/** The view of a graph as a hook: it measures its frame, and follows the pointer, the wheel and the buttons. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Box, Layout, Place } from "./laid-out.ts";
import {
  boxInView,
  carried,
  contains,
  firstView,
  fits,
  fitted,
  revealed,
  type Size,
  type View,
  zoomed,
} from "./view.ts";

export interface Viewing {
  readonly frame: RefObject<HTMLDivElement | null>;
  readonly view: View;
  /** What is drawn: more than is in view, so that it changes rarely while the view moves. */
  readonly drawn: Box;
  readonly zoom: (factor: number) => void;
  readonly fit: () => void;
  readonly reveal: (place: Place) => void;
  /** Tells whether the pointer moved the graph, so that the click at the end of it is none. */
  readonly wasDragged: () => boolean;
}

/** `centre` is the id of the node around which a large graph begins. */
export function useView(graph: Layout, centre: string): Viewing {
  const frame = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size>({ width: 800, height: 400 });
  const isMoved = useRef(false);
  const first = (inSize: Size) => firstView(graph, inSize, graph.places.get(centre));
  const [view, setView] = useState<View>(() => first(size));
  const last = useRef(graph);
  if (last.current !== graph) {
    // What is looked at stays where it is, unless the graph was changed to show something new, or all of it is in view.
    const isTurned = graph.shape.isDown !== last.current.shape.isDown;
    const isNew = isTurned || (graph.places.has(centre) && !last.current.places.has(centre));
    const begins = isNew || (!isMoved.current && fits(graph, size));
    const kept = begins ? undefined : carried(view, size, last.current.places, graph.places);
    isMoved.current &&= kept !== undefined;
    last.current = graph;
    setView(kept ?? first(size));
  }
  const onSize = (next: Size) => {
    if (next.width === size.width && next.height === size.height) return;
    setSize(next);
    if (isMoved.current) return;
    const shown = graph.places.get(centre);
    if (fits(graph, size) || fits(graph, next)) setView(first(next));
    else if (shown) setView((before) => revealed(before, shown, next));
  };
  useLayoutEffect(() => {
    const measured = sizeOf(frame.current);
    setSize(measured);
    setView(first(measured));
  }, []);
  const move: Change = useCallback((change) => {
    isMoved.current = true;
    setView(change);
  }, []);
  useResize(frame, onSize);
  useWheel(frame, move);
  const wasDragged = useDrag(frame, move);
  return {
    frame,
    view,
    drawn: useDrawn(view, size),
    zoom: (factor) => move((before) => zoomed(before, factor, { x: size.width / 2, y: size.height / 2 })),
    fit: () => move(() => fitted(graph, size)),
    reveal: (place) => setView((before) => revealed(before, place, size)),
    wasDragged,
  };
}

const sizeOf = (frame: HTMLDivElement | null): Size => ({
  width: frame?.clientWidth ?? 800,
  height: frame?.clientHeight ?? 400,
});

function useResize(frame: RefObject<HTMLDivElement | null>, onSize: (size: Size) => void) {
  const latest = useRef(onSize);
  latest.current = onSize;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => latest.current(sizeOf(element)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [frame]);
}

/** Draws anew only when the view leaves what was drawn, or shows so little of it that less would do. */
function useDrawn(view: View, size: Size): Box {
  const drawn = useRef<Box | undefined>(undefined);
  const seen = boxInView(view, size);
  const wide = (box: Box) => box.right - box.left;
  if (!drawn.current || !contains(drawn.current, seen) || wide(drawn.current) > 6 * wide(seen))
    drawn.current = boxInView(view, size, 0.25);
  return drawn.current;
}

type Change = (change: (before: View) => View) => void;

/** The wheel zooms with Ctrl or ⌘, as a pinch on a touchpad does; alone it scrolls the page, as elsewhere. */
function useWheel(frame: RefObject<HTMLDivElement | null>, change: Change) {
  useEffect(() => {
    const element = frame.current;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
      event.preventDefault();
      const box = element?.getBoundingClientRect();
      const at = { x: event.clientX - (box?.left ?? 0), y: event.clientY - (box?.top ?? 0) };
      if (event.shiftKey) change((before) => ({ ...before, x: before.x - (event.deltaX || event.deltaY) }));
      else change((before) => zoomed(before, Math.exp(-event.deltaY / 300), at));
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [frame, change]);
}

interface Spot {
  readonly x: number;
  readonly y: number;
}

/** One pointer moves the graph, two zoom it. */
function useDrag(frame: RefObject<HTMLDivElement | null>, change: Change): () => boolean {
  const dragged = useRef(false);
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const pointers = new Map<number, Spot>();
    let start: Spot | undefined;
    const spot = (event: PointerEvent): Spot => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const down = (event: PointerEvent) => {
      if (event.button !== 0) return;
      pointers.set(event.pointerId, spot(event));
      if (pointers.size > 1) return;
      start = spot(event);
      dragged.current = false;
    };
    const move = (event: PointerEvent) => {
      const before = pointers.get(event.pointerId);
      if (!before || !start) return;
      const now = spot(event);
      if (!dragged.current && Math.hypot(now.x - start.x, now.y - start.y) < 5) return;
      if (!dragged.current) element.setPointerCapture(event.pointerId);
      dragged.current = true;
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      pointers.set(event.pointerId, now);
      change((view) => (other ? pinched(view, other, before, now) : panned(view, before, now)));
    };
    const up = (event: PointerEvent) => void pointers.delete(event.pointerId);
    return listen(element, { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up });
  }, [frame, change]);
  return () => dragged.current;
}

const panned = (view: View, from: Spot, to: Spot): View => ({
  ...view,
  x: view.x + to.x - from.x,
  y: view.y + to.y - from.y,
});

const pinched = (view: View, fixed: Spot, from: Spot, to: Spot): View =>
  zoomed(view, distance(fixed, to) / Math.max(1, distance(fixed, from)), fixed);

const distance = (a: Spot, b: Spot) => Math.hypot(a.x - b.x, a.y - b.y);

function listen(element: HTMLElement, listeners: Record<string, (event: PointerEvent) => void>): () => void {
  const all = Object.entries(listeners) as [string, EventListener][];
  for (const [type, listener] of all) element.addEventListener(type, listener);
  return () => {
    for (const [type, listener] of all) element.removeEventListener(type, listener);
  };
}
