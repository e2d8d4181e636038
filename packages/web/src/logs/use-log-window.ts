/** The scrolling of a log: position, following the end, keys and wheel. */
import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";
import { bottomTop, contentHeight, type Extent, isScaled, lastTop, rowHeight, scrollOf, topOf } from "./log-window.ts";

export interface LogWindow {
  readonly frame: RefObject<HTMLDivElement | null>;
  readonly list: RefObject<HTMLDivElement | null>;
  /** First and last row to draw, the last exclusive. */
  readonly from: number;
  readonly to: number;
  readonly height: number;
  readonly contentHeight: number;
  readonly isAtEnd: boolean;
  goTo(row: number): void;
  goToEnd(): void;
  /** Stops following the end: the lines in view stay. */
  stay(): void;
  onScroll(): void;
  onKey(key: string): boolean;
}

export function useLogWindow(rows: number, wraps: boolean): LogWindow {
  const frame = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const height = useHeight(frame);
  const [top, setTop] = useState(0);
  const [isAtEnd, setAtEnd] = useState(true);
  const expected = useRef(0);
  // Events may come faster than the page is drawn.
  const position = useRef(0);
  const extent: Extent = { rows, height, wraps };
  const latest = useRef(extent);
  latest.current = extent;
  const count = Math.ceil(height / rowHeight) + 2;
  const shownTop = isAtEnd ? Math.max(0, rows - count) : Math.min(top, Math.max(0, rows - 1));
  const from = Math.floor(shownTop);
  const to = Math.min(rows, from + count);

  const move = (to: number) => {
    const next = Math.max(0, Math.min(to, lastTop(latest.current)));
    position.current = next;
    setTop(next);
    setAtEnd(isBottom(next, latest.current, list.current));
  };

  useLayoutEffect(() => {
    const [outer, inner] = [frame.current, list.current];
    if (!outer || !inner) return;
    const heights = [...inner.children].map((row) => (row as HTMLElement).offsetHeight);
    const at = isAtEnd ? bottomTop(extent, heights) : shownTop;
    const shift = heights.slice(0, Math.max(0, Math.floor(at) - from)).reduce((sum, one) => sum + one, 0);
    inner.style.transform = `translateY(${-(shift + (at % 1) * (heights[Math.floor(at) - from] ?? rowHeight))}px)`;
    position.current = at;
    expected.current = scrollOf(extent, at);
    if (Math.abs(outer.scrollTop - expected.current) > 1) outer.scrollTop = expected.current;
    if (isAtEnd && Math.abs(at - top) > 0.001) setTop(at);
  });

  useWheel(frame, latest, (lines) => move(position.current + lines));

  return {
    frame,
    list,
    from,
    to,
    height,
    contentHeight: contentHeight(extent),
    isAtEnd,
    goTo: (row) => {
      setAtEnd(false);
      setTop(Math.max(0, Math.min(row - Math.floor(height / rowHeight / 3), lastTop(extent))));
    },
    goToEnd: () => setAtEnd(true),
    stay: () => setAtEnd(false),
    onScroll: () => {
      const at = frame.current?.scrollTop ?? 0;
      if (Math.abs(at - expected.current) > 1) move(topOf(latest.current, at));
    },
    onKey: (key) => {
      const page = Math.max(1, Math.floor(height / rowHeight) - 1);
      const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
      if (key === "Home") move(0);
      else if (key === "End") setAtEnd(true);
      else if (steps[key] !== undefined) move(position.current + steps[key]);
      else return false;
      return true;
    },
  };
}

/** Whether the last row is in the window when the list begins at this position. */
function isBottom(top: number, extent: Extent, list: HTMLElement | null): boolean {
  if (!extent.wraps) return top >= lastTop(extent) - 0.5;
  const last = list?.lastElementChild;
  const isDrawn = last instanceof HTMLElement && last.dataset["row"] === String(extent.rows - 1);
  return (
    isDrawn && last.getBoundingClientRect().bottom <= (list?.parentElement?.getBoundingClientRect().bottom ?? 0) + 4
  );
}

/** Where a pixel of the scroll bar is many rows, the wheel moves by rows instead. */
function useWheel(
  frame: RefObject<HTMLDivElement | null>,
  extent: RefObject<Extent>,
  move: (lines: number) => void,
): void {
  const latest = useRef(move);
  latest.current = move;
  useEffect(() => {
    const element = frame.current;
    const onWheel = (event: WheelEvent) => {
      if (event.ctrlKey || event.deltaY === 0 || !isScaled(extent.current)) return;
      event.preventDefault();
      latest.current(event.deltaY / (event.deltaMode === WheelEvent.DOM_DELTA_PIXEL ? rowHeight : 1));
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [frame, extent]);
}

function useHeight(frame: RefObject<HTMLDivElement | null>): number {
  const [height, setHeight] = useState(400);
  useLayoutEffect(() => {
    const element = frame.current;
    if (!element) return;
    const measure = () => setHeight(element.clientHeight);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, [frame]);
  return height;
}
