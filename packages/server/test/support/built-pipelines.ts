/** Pipelines in a store without a server: an original, a draft and a run for each name. */
import type { PipelineStatus } from "@millrace/contract";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { beginDrafts } from "../../src/domain/lifecycle/pipeline-progress.ts";
import { insertNamed, insertRunsWithDrafts } from "../../src/domain/pipelines/new-pipeline.ts";
import { encryptEnvironment } from "../../src/domain/secrets/encryption.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { getShortJob, insertJob, type ShortJob } from "../../src/store/queries/jobs/jobs.ts";
import type { PipelineRow } from "../../src/store/queries/pipelines/pipelines.ts";
import { keyRing } from "./keys.ts";

export const now = Date.UTC(2030, 0, 1);
export const builtKeys = keyRing();

/** Which runs there are, by name, each with its parents. */
export type Shape = Readonly<Record<string, readonly string[]>>;

export interface Built {
  readonly row: PipelineRow;
  /** Ids of the originals, by name. */
  readonly originals: Readonly<Record<string, string>>;
}

interface BuildOptions {
  readonly status?: PipelineStatus | undefined;
  /** Other columns of the pipeline. */
  readonly rest?: Partial<PipelineRow> | undefined;
  /** Other fields of the originals' specs, by name. */
  readonly specs?: Readonly<Record<string, object>>;
}

export async function buildPipeline(
  store: Store,
  shape: Shape,
  { status = "RUNNING", rest = {}, specs = {} }: BuildOptions = {},
): Promise<Built> {
  const originals: Record<string, string> = {};
  const jobs = new Map<string, ShortJob>();
  const row = await store.write(async (db) => {
    for (const name of Object.keys(shape)) {
      const id = newJobId(now);
      originals[name] = id;
      const common = { tags: ["t"], id, name, priority: 5, workers: 1, files: [], credentials_name: null };
      const environment = await encryptEnvironment(db, builtKeys, id, "OWN=1");
      await insertJob(db, { ...blankJob, id, name, spec: JSON.stringify({ ...common, ...specs[name] }), environment });
      jobs.set(id, (await getShortJob(db, id)) as ShortJob);
    }
    const named = { ...blankPipeline, id: newJobId(now), status, open_runs: jobs.size, ...rest };
    const pipeline = await insertNamed(db, named);
    const nodes = Object.entries(shape).map(([name, parents]) => ({
      jobId: originals[name] as string,
      parents: parents.map((parent) => originals[parent] as string),
    }));
    const { ready } = await insertRunsWithDrafts({ db, now }, builtKeys, pipeline, { nodes, jobs, tokenId: null });
    if (status === "RUNNING") await beginDrafts(db, ready);
    return pipeline;
  });
  return { row, originals };
}

const blankJob = {
  team_id: 1,
  user_id: 1,
  cluster_id: 1,
  status: "CANCELED",
  attempt: 0,
  environment: "",
  secrets: "",
  scopes: "[]",
  metrics: "{}",
  created_at: iso(now),
} as const;

export const blankPipeline = {
  team_id: 1,
  user_id: 1,
  is_template: 0,
  schedule_id: null,
  scheduled_at: null,
  scheduled_timezone: null,
  chain: null,
  triggered_from: "@admin.default.x@1.0.0",
  datasets: '["@admin.default.x@1.0.0"]',
  asked: null,
  settings: "{}",
  environment: "",
  scopes: "[]",
  error_message: null,
  error_stack: null,
  created_at: iso(now),
  updated_at: iso(now),
  finished_at: null,
} as const;
