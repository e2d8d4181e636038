/** The tools above a log: search, errors, wrapping, times, download. */
import type { Job } from "@millrace/contract";
import { type FormEvent, type ReactNode, useState } from "react";
import { serverPath } from "../api/base.ts";
import { Button } from "../look/button.tsx";
import "../look/field.css";
import { Icon } from "../look/icon.tsx";
import { Problem } from "../look/states.tsx";
import type { LogSearch } from "./use-log-search.ts";

interface SearchState {
  readonly text: string;
  readonly isRegex: boolean;
  readonly found: LogSearch;
  /** The line at which the reader is; undefined if they have not jumped anywhere yet. */
  readonly current: number | undefined;
  readonly onText: (text: string) => void;
  readonly onKind: (isRegex: boolean) => void;
}

interface Toggles {
  readonly wraps: boolean;
  readonly toggleWrap: () => void;
  readonly withTimes: boolean;
  readonly toggleTimes: () => void;
}

interface ToolsProps {
  readonly job: Job;
  readonly attempt: number | undefined;
  readonly search: SearchState;
  readonly toggles: Toggles;
  readonly onHit: (line: number) => void;
  readonly onError: () => void;
  readonly notice: string;
  /** What leads to the end of the log, or follows it. */
  readonly end: ReactNode;
}

export function LogTools({ job, attempt, search, toggles, onHit, onError, notice, end }: ToolsProps) {
  return (
    <div className="log-tools stack tight">
      <div className="row wrap">
        <SearchForm search={search} onHit={onHit} />
        <span className="log-space-between" />
        <span className="log-notice small soft" role="status">
          {notice}
        </span>
        <Button kind="bare" icon="warning" onClick={onError}>
          Next error
        </Button>
        {end}
        <Button kind="bare" aria-pressed={toggles.wraps} onClick={toggles.toggleWrap}>
          Wrap
        </Button>
        <Button kind="bare" aria-pressed={toggles.withTimes} onClick={toggles.toggleTimes}>
          Times
        </Button>
        <a className="button bare" href={downloadPath(job, attempt)} download={`${job.id}.log`}>
          <Icon name="download" />
          <span className="log-word">Download</span>
        </a>
      </div>
      <Problem error={search.found.error} />
    </div>
  );
}

function downloadPath({ team, id }: Job, attempt: number | undefined): string {
  const query = new URLSearchParams({ team_name: team, format: "text" });
  if (attempt !== undefined) query.set("attempt", String(attempt));
  return serverPath(`/api/datachain/jobs/${id}/logs?${query}`);
}

function SearchForm({ search, onHit }: { search: SearchState; onHit: (line: number) => void }) {
  const { text, isRegex, found, current } = search;
  const [typed, setTyped] = useState(text);
  const step = (isBack: boolean) => {
    const hit = neighbour(found.hits, current, isBack);
    if (hit !== undefined) onHit(hit);
  };
  const submit = (event: FormEvent, isBack = false) => {
    event.preventDefault();
    if (typed === text) step(isBack);
    else search.onText(typed);
  };
  return (
    <form className="row log-search" onSubmit={(event) => submit(event)}>
      <input
        type="search"
        aria-label="Search in the log"
        placeholder="Search the log"
        value={typed}
        maxLength={500}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          if (event.currentTarget.value === "") search.onText("");
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter" && event.shiftKey) submit(event, true);
        }}
      />
      <Button
        kind="bare"
        aria-pressed={isRegex}
        title="Searches with a regular expression"
        onClick={() => search.onKind(!isRegex)}
      >
        Regex
      </Button>
      {text !== "" && (
        <>
          <Button kind="bare" icon="left" aria-label="Previous hit" onClick={() => step(true)} />
          <Button kind="bare" icon="right" aria-label="Next hit" onClick={() => step(false)} />
          <span className="small soft nowrap" role="status">
            {hitWords(found, current)}
          </span>
        </>
      )}
    </form>
  );
}

/** The next or previous hit, and around the end. */
function neighbour(hits: readonly number[], current: number | undefined, isBack: boolean): number | undefined {
  // A log is read from its end, so the first hit that is shown is the last one.
  if (current === undefined) return hits.at(-1);
  if (isBack) return hits.findLast((line) => line < current) ?? hits.at(-1);
  return hits.find((line) => line > current) ?? hits[0];
}

function hitWords({ hits, isSearching, isCut, error }: LogSearch, current: number | undefined): string {
  if (error) return "";
  if (hits.length === 0) return isSearching ? "Searching" : "No line found";
  const place = current === undefined ? -1 : hits.indexOf(current);
  const all = `${hits.length}${isCut || isSearching ? "+" : ""} ${hits.length === 1 ? "line" : "lines"}`;
  return place === -1 ? all : `${place + 1} of ${all}`;
}
