/** The view of a graph as a hook: it measures its frame, and follows the pointer, the wheel and the buttons. */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Box, Layout, Place } from "./layout.ts";
import { boxInView, contains, firstView, fitted, revealed, type Size, type View, zoomed } from "./view.ts";

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

export function useView(graph: Layout, centre: Place | undefined): Viewing {
  const frame = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size>({ width: 800, height: 400 });
  const [view, setView] = useState<View>(() => firstView(graph, size, centre));
  const isMoved = useRef(false);
  const begin = (width: number, height: number) => {
    setSize({ width, height });
    if (!isMoved.current) setView(firstView(graph, { width, height }, centre));
  };
  const move: Change = useCallback((change) => {
    isMoved.current = true;
    setView(change);
  }, []);
  // Only a changed graph begins anew: a selection must not move the view.
  useLayoutEffect(() => {
    isMoved.current = false;
    begin(frame.current?.clientWidth ?? 800, frame.current?.clientHeight ?? 400);
  }, [graph]);
  useResize(frame, begin);
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

function useResize(frame: RefObject<HTMLDivElement | null>, onSize: (width: number, height: number) => void) {
  const latest = useRef(onSize);
  latest.current = onSize;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => latest.current(element.clientWidth, element.clientHeight));
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
    drawn.current = boxInView(view, size, 0.5);
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
