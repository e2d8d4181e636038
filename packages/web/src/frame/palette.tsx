/** The command palette: type a few letters of a screen, an action, a job, a pipeline, a dataset or a schedule. */
import { type KeyboardEvent, useEffect, useId, useState } from "react";
import { useLocation } from "wouter";
import { Dialog } from "../look/dialog.tsx";
import { Icon } from "../look/icon.tsx";
import "./palette.css";
import { type Entry, useEntries } from "./palette-entries.ts";

interface PaletteProps {
  readonly team: string;
  readonly onClose: () => void;
  readonly onSheet: () => void;
}

export default function Palette({ team, onClose, onSheet }: PaletteProps) {
  const id = useId();
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const [, go] = useLocation();
  const entries = useEntries(team, typed, onSheet);
  const chosen = Math.min(at, entries.length - 1);
  const choose = (entry: Entry | undefined) => {
    if (!entry) return;
    onClose();
    if (entry.href !== undefined) go(entry.href);
    entry.run?.();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") choose(entries[chosen]);
    if (step !== undefined && entries.length > 0) setAt((chosen + step + entries.length) % entries.length);
    if (step !== undefined || event.key === "Enter") event.preventDefault();
  };
  return (
    <Dialog title="Search and commands" onClose={onClose}>
      <div className="palette stack tight">
        <input
          autoFocus
          role="combobox"
          aria-label="Search and commands"
          aria-expanded={entries.length > 0}
          aria-controls={entries.length > 0 ? id : undefined}
          aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
          autoComplete="off"
          placeholder="Type a name or a command"
          value={typed}
          onInput={(event) => {
            setTyped(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
        <Entries id={id} entries={entries} chosen={chosen} onChoose={choose} />
      </div>
    </Dialog>
  );
}

interface EntriesProps {
  readonly id: string;
  readonly entries: readonly Entry[];
  readonly chosen: number;
  readonly onChoose: (entry: Entry) => void;
}

function Entries({ id, entries, chosen, onChoose }: EntriesProps) {
  useEffect(() => document.getElementById(`${id}-${chosen}`)?.scrollIntoView({ block: "nearest" }), [id, chosen]);
  if (entries.length === 0)
    return (
      <div className="palette-list">
        <p className="soft">Nothing has this text.</p>
      </div>
    );
  return (
    <div id={id} className="palette-list" role="listbox" aria-label="Found">
      {entries.map((entry, index) => (
        <Line
          key={entry.key}
          id={`${id}-${index}`}
          entry={entry}
          head={entries[index - 1]?.group !== entry.group}
          isChosen={index === chosen}
          onChoose={() => onChoose(entry)}
        />
      ))}
    </div>
  );
}

interface LineProps {
  readonly id: string;
  readonly entry: Entry;
  /** Whether the entry is the first of its group. */
  readonly head: boolean;
  readonly isChosen: boolean;
  readonly onChoose: () => void;
}

const Line = ({ id, entry, head, isChosen, onChoose }: LineProps) => (
  <>
    {head && (
      <div className="palette-group small soft" role="presentation">
        {entry.group}
      </div>
    )}
    {/* biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/useFocusableInteractive: the field above has the focus and the keys */}
    <div id={id} role="option" aria-selected={isChosen} className="palette-entry row" onClick={onChoose}>
      <Icon name={entry.icon} />
      <span className="cut">{entry.title}</span>
      {entry.beside !== undefined && <span className="small soft">{entry.beside}</span>}
    </div>
  </>
);
