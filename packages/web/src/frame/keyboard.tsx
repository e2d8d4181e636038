/** Listens to the keys that work on every page, and opens the command palette and the list of keys. */
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useLocation } from "wouter";
import { teamPath } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { actionOf, type KeyAction, placeLetters } from "./keys.ts";
import { places } from "./places.ts";

const Palette = lazy(() => import("./palette.tsx"));
const KeySheet = lazy(() => import("./key-sheet.tsx"));

/** Milliseconds in which a letter must follow `g`. */
const patience = 1500;

type Open = "palette" | "sheet" | undefined;

export function Keyboard({ team }: { team: string }) {
  const [open, setOpen] = useState<Open>();
  const [, go] = useLocation();
  const act = useRef<(action: KeyAction) => void>(() => {});
  act.current = (action) => {
    if (action.do === "palette" || action.do === "sheet") setOpen(action.do);
    if (action.do === "new-job") go(teamPath(team, "/editor"));
    if (action.do === "search") document.querySelector<HTMLElement>("main input[type=search]")?.focus();
    if (action.do !== "place") return;
    const place = places.find(({ title }) => placeLetters[title] === action.letter);
    if (place) go(teamPath(team, place.path));
  };
  useKeys(act);
  const close = () => setOpen(undefined);
  return (
    <>
      <Button
        kind="bare"
        icon="search"
        className="palette-button"
        aria-keyshortcuts="Control+K Meta+K"
        title="Search and commands (Ctrl or ⌘ + K)"
        onClick={() => setOpen("palette")}
      >
        <span>Search</span> <kbd>Ctrl K</kbd>
      </Button>
      <Suspense fallback={null}>
        {open === "palette" && <Palette team={team} onClose={close} onSheet={() => setOpen("sheet")} />}
        {open === "sheet" && <KeySheet onClose={close} />}
      </Suspense>
    </>
  );
}

function useKeys(act: { readonly current: (action: KeyAction) => void }): void {
  useEffect(() => {
    let sinceG = Number.NEGATIVE_INFINITY;
    const press = (event: KeyboardEvent) => {
      // Dialogs, and fields that use a key themselves, come first.
      if (event.defaultPrevented || document.querySelector("dialog[open]")) return;
      const action = actionOf(event, isTyping(event.target), event.timeStamp - sinceG < patience);
      sinceG = action?.do === "await-place" ? event.timeStamp : Number.NEGATIVE_INFINITY;
      if (!action) return;
      event.preventDefault();
      act.current(action);
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [act]);
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && (target.isContentEditable || /^(input|textarea|select)$/i.test(target.tagName));
