/** What clicks and keys do in a graph. One node can be reached with Tab; the arrow keys move from it. */
import { type KeyboardEvent, type MouseEvent, type SyntheticEvent, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import type { GraphNode } from "./nodes.ts";
import { type Direction, step } from "./steps.ts";
import type { Picture } from "./use-picture.ts";
import type { Viewing } from "./use-view.ts";

interface Acts {
  readonly selected: string;
  readonly onSelect: (id: string) => void;
  readonly openGroup: (members: readonly GraphNode[]) => void;
}

const directions: Readonly<Record<string, Direction>> = {
  ArrowLeft: "left",
  ArrowRight: "right",
  ArrowUp: "up",
  ArrowDown: "down",
};

/** The id of the node at which an event happened. */
const idAt = ({ target }: SyntheticEvent): string | undefined =>
  target instanceof Element ? (target.closest<SVGElement>("[data-id]")?.dataset["id"] ?? undefined) : undefined;

export function useKeys(picture: Picture, viewing: Viewing, { selected, onSelect, openGroup }: Acts) {
  const [focused, setFocused] = useState("");
  const [, go] = useLocation();
  const move = useMove(viewing, setFocused);
  const nodeOf = (id: string | undefined) => picture.nodes.find((node) => node.id === id);
  const select = (id: string) => {
    const members = nodeOf(id)?.members;
    if (members) openGroup(members);
    else onSelect(id === selected ? "" : id);
  };
  const open = (id: string) => {
    const node = nodeOf(id);
    if (node?.href !== undefined) go(node.href);
    else select(id);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const id = move.pending() ?? idAt(event);
    const direction = directions[event.key];
    if (id === undefined) return;
    if (direction) move.to(step(id, direction, picture.laid, picture.links), picture);
    else if (event.key === "Enter") open(id);
    else if (event.key === " ") select(id);
    else if (event.key === "Escape") onSelect("");
    else return;
    event.preventDefault();
  };
  const onClick = (event: MouseEvent) => {
    if (viewing.wasDragged()) return;
    const id = idAt(event);
    if (id !== undefined) select(id);
    else if (selected) onSelect("");
  };
  const onDoubleClick = (event: MouseEvent) => {
    const href = nodeOf(idAt(event))?.href;
    if (href !== undefined) go(href);
  };
  const onFocus = (event: SyntheticEvent) => setFocused(idAt(event) ?? focused);
  const active = [focused, picture.centre].find((id) => picture.links.before.has(id)) ?? picture.nodes[0]?.id ?? "";
  return { active, listeners: { onKeyDown, onClick, onDoubleClick, onFocusCapture: onFocus } };
}

/**
 * Moves the focus to a node, and the view with it. The node may not be drawn yet; until then it is pending, and the next
 * key already counts from it.
 */
function useMove(viewing: Viewing, setFocused: (id: string) => void) {
  const wanted = useRef<string | undefined>(undefined);
  useEffect(() => {
    if (wanted.current === undefined) return;
    const element = viewing.frame.current?.querySelector<SVGElement>(`[data-id="${CSS.escape(wanted.current)}"] .node`);
    wanted.current = undefined;
    element?.focus({ preventScroll: true });
  });
  const to = (id: string | undefined, { laid }: Picture) => {
    const place = id === undefined ? undefined : laid.places.get(id);
    if (id === undefined || !place) return;
    wanted.current = id;
    setFocused(id);
    viewing.reveal(place);
  };
  return { to, pending: () => wanted.current };
}
