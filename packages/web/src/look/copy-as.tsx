/** Copies actions as commands of curl, of the command line, or as Python, for scripts that do the same. */
import type { PlainRequest, Route, RouteInput } from "@millrace/contract";
import { type SyntheticEvent, useContext, useRef, useState } from "react";
import { prefix } from "../api/base.ts";
import { TeamContext } from "../api/team.tsx";
import "./copy-as.css";
import { writeText } from "./copy-button.tsx";
import { Icon } from "./icon.tsx";
import { curlOf, pythonOf, shownRequest } from "./request-code.ts";

/** An action or a list that can be copied. */
export interface Copyable {
  readonly title: string;
  readonly request: (place: { readonly url: string; readonly team: string | undefined }) => PlainRequest;
  readonly cli: ((team: string) => string) | undefined;
}

/**
 * Returns what can be copied of a call. `input` is asked for when something is copied, and may throw what is wrong with
 * it. `cli` is the command of the command line that does the same, if there is one.
 */
export const copyable = <R extends Route>(
  title: string,
  route: R,
  input: () => RouteInput<R>,
  cli?: (team: string) => string,
): Copyable => ({ title, cli, request: (place) => shownRequest(place, route, input()) });

/** A menu for one action, or for several, each with its title. */
export function CopyAs({ actions }: { actions: readonly Copyable[] }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const [said, setSaid] = useState("");
  return (
    <details
      ref={menu}
      className="copy-as"
      onBlur={closeWhenLeft}
      onKeyDown={closeOnEscape}
      onToggle={() => setSaid("")}
    >
      <summary className="button bare">
        <Icon name="copy" />
        Copy as
        <Icon name="down" size={12} />
      </summary>
      <div className="copy-menu">
        {actions.map((action) => (
          <Entries key={action.title} action={action} isOnly={actions.length === 1} say={setSaid} />
        ))}
        <p role="status" className="small soft">
          {said || "The token is read from $MILLRACE_TOKEN"}
        </p>
      </div>
    </details>
  );
}

interface EntriesProps {
  readonly action: Copyable;
  readonly isOnly: boolean;
  readonly say: (text: string) => void;
}

function Entries({ action: { title, request, cli }, isOnly, say }: EntriesProps) {
  const team = useContext(TeamContext);
  const place = { url: window.location.origin + prefix, team };
  const copy = async (name: string, text: () => string) => {
    try {
      await writeText(text());
      say(isOnly ? `Copied as ${name}` : `Copied ${title.toLowerCase()} as ${name}`);
    } catch (error) {
      say(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <fieldset aria-label={title} className={isOnly ? "copy-only" : "copy-group"}>
      {!isOnly && <span className="copy-title">{title}</span>}
      <Entry name="curl" onClick={() => void copy("curl", () => curlOf(request(place)))} />
      {cli && <Entry name="CLI" onClick={() => void copy("CLI", () => cli(team ?? ""))} />}
      <Entry name="Python" onClick={() => void copy("Python", () => pythonOf(request(place)))} />
    </fieldset>
  );
}

const Entry = ({ name, onClick }: { name: string; onClick: () => void }) => (
  <button type="button" className="copy-entry" onClick={onClick}>
    {name}
  </button>
);

function closeWhenLeft(event: { currentTarget: HTMLDetailsElement; relatedTarget: EventTarget | null }): void {
  if (!event.currentTarget.contains(event.relatedTarget as Node | null)) event.currentTarget.open = false;
}

function closeOnEscape(event: SyntheticEvent<HTMLDetailsElement> & { key: string }): void {
  if (event.key !== "Escape" || !event.currentTarget.open) return;
  event.currentTarget.open = false;
  event.currentTarget.querySelector("summary")?.focus();
}
