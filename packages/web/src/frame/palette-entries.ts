/** The entries of the command palette: screens, actions, and what the team has. */
import { routes } from "@millrace/contract";
import { useEffect, useState } from "react";
import { useApi } from "../api/calls.ts";
import { useSession } from "../api/session.tsx";
import { teamPath } from "../api/team.tsx";
import type { IconName } from "../look/icon.tsx";
import { wordOf } from "../look/status.tsx";
import { themes, useTheme } from "../look/theme.ts";
import { datasetPath, fullNameOf } from "../paths/dataset-paths.ts";
import { jobPath } from "../paths/job-paths.ts";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { newBackfillPath, schedulePath } from "../paths/schedule-paths.ts";
import { matching } from "./palette-match.ts";
import { places } from "./places.ts";

export interface Entry {
  readonly key: string;
  readonly group: "Go to" | "Do" | "Jobs" | "Pipelines" | "Datasets" | "Schedules";
  readonly icon: IconName;
  readonly title: string;
  /** Shown at the right, such as a state. */
  readonly beside?: string;
  readonly href?: string;
  readonly run?: () => void;
}

const administration = {
  key: "administration",
  group: "Go to",
  icon: "administration",
  title: "Administration",
} as const;

/** Entries of one group. */
const most = 6;
/** Milliseconds after the last key until the server is asked. */
const pause = 150;

/** Returns the entries that fit what was typed. Until something is typed, the newest of each kind. */
export function useEntries(team: string, typed: string, onSheet: () => void): Entry[] {
  const [, setTheme] = useTheme();
  const { is_admin } = useSession();
  const screens = places.map(({ title, icon, path }): Entry => {
    return { key: `go ${path}`, group: "Go to", icon, title, href: teamPath(team, path) };
  });
  if (is_admin) screens.push({ ...administration, href: "/administration" });
  const actions: Entry[] = [
    { key: "new job", group: "Do", icon: "plus", title: "New job", href: teamPath(team, "/editor") },
    { key: "new pipeline", group: "Do", icon: "plus", title: "New pipeline", href: teamPath(team, "/pipelines/new") },
    { key: "new schedule", group: "Do", icon: "plus", title: "New schedule", href: teamPath(team, "/schedules/new") },
    { key: "new backfill", group: "Do", icon: "plus", title: "New backfill", href: newBackfillPath(team) },
    { key: "keys", group: "Do", icon: "menu", title: "Show the keys", run: onSheet },
    // Rarely wanted, so they do not stand before the jobs until something is typed.
    ...(typed.trim() === "" ? [] : themes).map((theme): Entry => {
      const icon = theme === "dark" ? "moon" : "sun";
      return { key: `theme ${theme}`, group: "Do", icon, title: `Theme: ${theme}`, run: () => setTheme(theme) };
    }),
  ];
  const fixed = matching([...screens, ...actions], ({ title }) => title, typed);
  return [...fixed, ...useFound(team, typed.trim())];
}

function useFound(team: string, typed: string): Entry[] {
  const text = usePaused(typed);
  const search = text === "" ? {} : { search: text };
  const jobs = useApi(routes.listJobs, { query: { limit: most, ...search } }).data ?? [];
  const pipelines = useApi(routes.listPipelines, { query: { limit: most, ...search } }).data ?? [];
  const datasets = useApi(routes.listDatasets, { query: { limit: most, ...search } }).data ?? [];
  const schedules = useApi(routes.listSchedules, { query: {} }).data ?? [];
  return [
    ...jobs.map(({ id, name, status }): Entry => {
      const title = name ?? id;
      return { key: id, group: "Jobs", icon: "jobs", title, beside: wordOf(status), href: jobPath(team, id) };
    }),
    ...pipelines.map(({ pipeline_id: id, name, status }): Entry => {
      const beside = wordOf(status);
      return { key: id, group: "Pipelines", icon: "pipelines", title: name, beside, href: pipelinePath(team, id) };
    }),
    ...datasets.map((dataset): Entry => {
      const title = fullNameOf(dataset);
      return { key: title, group: "Datasets", icon: "datasets", title, href: datasetPath(team, title) };
    }),
    ...matching(schedules, ({ schedule_name }) => schedule_name, text)
      .slice(0, most)
      .map(({ id, schedule_name: title }): Entry => {
        const href = schedulePath(team, id);
        return { key: `schedule ${id}`, group: "Schedules", icon: "schedules", title, href };
      }),
  ];
}

function usePaused(text: string): string {
  const [paused, setPaused] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(text), pause);
    return () => clearTimeout(timer);
  }, [text]);
  return paused;
}
