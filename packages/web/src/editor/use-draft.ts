/** The draft of the editor, kept in this tab until it is discarded, so that an error or a reload loses nothing. */
import { type Job, routes } from "@millrace/contract";
import { useEffect, useState } from "react";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { type Draft, draftOf, emptyDraft } from "./draft.ts";

const place = (team: string, from: string) => `millrace.draft.${team}.${from || "new"}`;

function kept(team: string, from: string): Draft | undefined {
  try {
    const text = sessionStorage.getItem(place(team, from));
    return text === null ? undefined : { ...emptyDraft, ...(JSON.parse(text) as Draft) };
  } catch {
    return undefined;
  }
}

function keep(team: string, from: string, draft: Draft | undefined): void {
  try {
    if (draft === undefined) sessionStorage.removeItem(place(team, from));
    else sessionStorage.setItem(place(team, from), JSON.stringify(draft));
  } catch {
    // The draft is larger than the browser keeps. It still is on the page.
  }
}

export interface DraftState {
  /** Undefined while the job that it repeats is being read. */
  readonly draft: Draft | undefined;
  readonly change: (changes: Partial<Draft>) => void;
  readonly discard: () => void;
  readonly error: unknown;
}

/** The draft of the URL: a new one, with `start=cron` for a task, or one that repeats the job `from`. */
export function useDraft(): DraftState {
  const team = useTeam();
  const [from] = useUrlState("from");
  const [start] = useUrlState("start");
  const fresh: Draft = start === "cron" ? { ...emptyDraft, start } : emptyDraft;
  const [draft, setDraft] = useState(() => kept(team, from) ?? (from === "" ? fresh : undefined));
  const wanted = draft === undefined;
  const source = useApi(routes.listJobs, { query: { job_id: from } }, { enabled: wanted && from !== "" });
  const found = wanted ? source.data : undefined;
  useEffect(() => {
    if (found?.[0]) setDraft(draftOf(found[0] as Job));
  }, [found]);
  const change = (changes: Partial<Draft>) =>
    setDraft((before) => {
      const after = { ...(before ?? emptyDraft), ...changes };
      keep(team, from, after);
      return after;
    });
  const discard = () => {
    keep(team, from, undefined);
    setDraft(from === "" ? fresh : undefined);
  };
  const missing = found?.length === 0 ? new Error(`There is no job ${from} in this team.`) : undefined;
  return { draft, change, discard, error: wanted ? (source.error ?? missing) : undefined };
}
