/** What can be copied of datasets: their list, and what can be done with one. */
import { type DatasetVersion, type RouteInput, routes, versionStatus } from "@millrace/contract";
import { commandLine } from "../look/command-line.ts";
import { type Copyable, copyable } from "../look/copy-as.tsx";

/** The command line finds datasets by the beginning of their names only. */
export const copyDatasets = (query: RouteInput<typeof routes.listDatasets>["query"]): Copyable =>
  copyable(
    "List",
    routes.listDatasets,
    () => ({ query }),
    query.search
      ? undefined
      : (team) =>
          commandLine(team, ["dataset", "ls", ...(query.prefix ? [query.prefix] : [])], {
            "include-removed": query.include_removed === true,
          }),
  );

export function copyDataset(name: string, { version, status }: DatasetVersion): Copyable[] {
  const show = copyable(
    "Show",
    routes.getDataset,
    () => ({ query: { name } }),
    (team) => commandLine(team, ["dataset", "show", name]),
  );
  const remove = copyable(
    "Remove the version",
    routes.removeDataset,
    () => ({ body: { name, version } }),
    (team) => commandLine(team, ["dataset", "rm", `${name}@${version}`]),
  );
  const rebuild = copyable(
    "Rebuild",
    routes.triggerPipeline,
    () => ({ body: { datasets: [name], review: false } }),
    (team) => commandLine(team, ["pipeline", "create", name], { run: true }),
  );
  return [show, rebuild, ...(status === versionStatus.removed ? [] : [remove])];
}
