/** Copies an action as a command of curl, of the command line, or as Python, for scripts that do the same. */
import type { Route, RouteInput } from "@millrace/contract";
import { type SyntheticEvent, useContext, useRef, useState } from "react";
import { prefix } from "../api/base.ts";
import { TeamContext } from "../api/team.tsx";
import "./copy-as.css";
import { writeText } from "./copy-button.tsx";
import { Icon } from "./icon.tsx";
import { curlOf, pythonOf, shownRequest } from "./request-code.ts";

interface CopyAsProps<R extends Route> {
  readonly route: R;
  /** Returns the input of the call; it is asked for when something is copied. May throw what is wrong with it. */
  readonly input: () => RouteInput<R>;
  /** The command of the command line that does the same, if there is one. */
  readonly cli?: () => string;
}

export function CopyAs<R extends Route>({ route, input, cli }: CopyAsProps<R>) {
  const team = useContext(TeamContext);
  const menu = useRef<HTMLDetailsElement>(null);
  const [said, setSaid] = useState("");
  const request = () => shownRequest({ url: window.location.origin + prefix, team }, route, input());
  const copy = async (name: string, text: () => string) => {
    try {
      await writeText(text());
      setSaid(`Copied as ${name}`);
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
  };
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
        <Entry name="curl" onClick={() => void copy("curl", () => curlOf(request()))} />
        {cli && <Entry name="CLI" onClick={() => void copy("CLI", cli)} />}
        <Entry name="Python" onClick={() => void copy("Python", () => pythonOf(request()))} />
        <p role="status" className="small soft">
          {said || "The token is read from $MILLRACE_TOKEN"}
        </p>
      </div>
    </details>
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
