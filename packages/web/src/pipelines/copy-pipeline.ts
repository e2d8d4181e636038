/** What can be copied of pipelines: their list, a new one, and what can be done with one now. */
import { type ListPipelinesQuery, type Pipeline, routes } from "@millrace/contract";
import { commandLine } from "../look/command-line.ts";
import { type Copyable, copyable } from "../look/copy-as.tsx";
import { actionRefusal, rerunTitle } from "./pipeline-actions.ts";

export const copyPipelines = (query: ListPipelinesQuery): Copyable =>
  copyable(
    "List",
    routes.listPipelines,
    () => ({ query }),
    (team) =>
      commandLine(team, ["pipeline", "ls"], {
        status: query.status?.join(","),
        search: query.search,
        limit: query.limit,
      }),
  );

export const copyTrigger = (datasets: readonly string[], review: boolean): Copyable =>
  copyable(
    "Create",
    routes.triggerPipeline,
    () => {
      if (datasets.length === 0) throw new Error("Choose a dataset first.");
      return { body: { datasets: [...datasets], review } };
    },
    (team) => commandLine(team, ["pipeline", "create", ...datasets], { run: !review }),
  );

const changes = [
  ["Pause", "pause", "pausePipeline"],
  ["Resume", "resume", "resumePipeline"],
  ["Rerun from failed", "rerun", "rerunPipeline"],
  ["Cancel", "cancel", "cancelPipeline"],
] as const;

export function copyPipeline({ pipeline_id, name, status }: Pipeline): Copyable[] {
  const show = copyable(
    "Show",
    routes.getPipeline,
    () => ({ query: { name } }),
    (team) => commandLine(team, ["pipeline", "status", name]),
  );
  const allowed = changes.filter(([, action]) => actionRefusal(action, status) === undefined);
  return [
    show,
    ...allowed.map(([title, action, route]) =>
      copyable(
        action === "rerun" ? rerunTitle(status) : title,
        routes[route],
        () => ({ body: { pipeline_id } }),
        (team) => commandLine(team, ["pipeline", action, name]),
      ),
    ),
  ];
}
