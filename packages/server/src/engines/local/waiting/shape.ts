/** Decides which jobs a waiting interpreter can serve. */
import { statSync } from "node:fs";
import { runtimeOf } from "../../../runtimes/runtimes.ts";
import type { LocalDatasets } from "../../warehouse-view.ts";
import type { LocalSpec } from "../attempt/local-spec.ts";
import { groupOf, keyOf } from "../environments/environments.ts";
import type { PlannedJob } from "../environments/plan-input.ts";

/**
 * Returns everything that decides how the query of a job is started, except the virtualenv's path, the script and the
 * variables, which are compared later; undefined if no interpreter can wait for such a job. Two jobs with the same shape
 * have the same sandbox, except for their folders and user ids. Only in a sandbox is the path of these folders the same
 * for all jobs: without one, the import would already see the paths of another folder.
 */
export function shapeOf(job: PlannedJob): string | undefined {
  const { spec, isolation, scriptName, interpreter, requirements } = job;
  const { store } = spec;
  const isScript = runtimeOf(spec.queryType).canWait && spec.script === undefined;
  if (isolation.level !== "bwrap" || !isScript || !store || !interpreter) return undefined;
  const environment = requirements === undefined ? "" : keyOf(job);
  const { metadata, rows, folder, group } = store;
  // The sandbox has mounted the folder itself: it would not notice that another folder is at this path now.
  const { dev, ino } = statSync(folder);
  const team = [spec.teamId, metadata, rows, folder, dev, ino, group, groupOf(job)];
  return JSON.stringify([scriptName, interpreter, environment, team]);
}

/** Returns the job without anything of its own: what all jobs with the same shape have in common. */
export function plainSpec(spec: LocalSpec): LocalSpec {
  const store = spec.store && plainStore(spec.store);
  return {
    ...spec,
    store,
    repository: null,
    query: "",
    environment: {},
    params: {},
    reset: false,
    files: [],
    jobId: "",
    key: "",
  };
}

function plainStore({ listingsSince: _, ...store }: LocalDatasets): LocalDatasets {
  return { ...store, home: { namespace: "", project: "" }, runGroupId: "", rerunFromJobId: null };
}
