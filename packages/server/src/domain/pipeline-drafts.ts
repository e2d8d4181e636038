/** Drafts: the jobs of a pipeline's runs, each like an original, fresh, and under its creator's rights. */

import { insertTags } from "../store/job-tags.ts";
import type { JobRow } from "../store/jobs.ts";
import { insertJob } from "../store/jobs.ts";
import type { Db } from "../store/store.ts";
import { iso } from "./clock.ts";
import { decryptEnvironment, encryptEnvironment } from "./encryption.ts";
import { type JobSpecFields, readSpec } from "./job-documents.ts";
import { newJobId } from "./job-ids.ts";
import type { KeyRing } from "./key-ring.ts";
import { type PipelineSettings, withSettings, withVariables } from "./pipeline-settings.ts";

/** What a pipeline gives to all its drafts. */
export interface DraftFrame {
  readonly pipelineId: string;
  readonly settings: PipelineSettings;
  readonly variables: Readonly<Record<string, string>>;
}

/** A run group of its own and nothing to rerun from: no checkpoint is found, so everything is made anew. */
export async function insertDraft(
  db: Db,
  keys: KeyRing,
  original: JobRow,
  frame: DraftFrame,
  now: number,
): Promise<string> {
  const id = newJobId(now);
  const own = { id, created_at: iso(now) };
  const { spec, environment } = await draftContent(db, keys, original, own, frame);
  await insertJob(db, {
    ...own,
    team_id: original.team_id,
    user_id: original.user_id,
    cluster_id: original.cluster_id,
    name: original.name,
    status: "PENDING",
    attempt: 0,
    spec: JSON.stringify(spec),
    environment,
    secrets: "",
    scopes: original.scopes,
    metrics: "{}",
    pipeline_id: frame.pipelineId,
  });
  await insertTags(db, original.team_id, id, spec.tags);
  return id;
}

/** What a draft is made of, also when the settings change before it begins. The environment is encrypted anew: it is bound to its row. */
export async function draftContent(
  db: Db,
  keys: KeyRing,
  original: JobRow,
  { id, created_at }: Pick<JobSpecFields, "id" | "created_at">,
  { settings, variables }: DraftFrame,
): Promise<{ spec: JobSpecFields; environment: string }> {
  const fresh = { start_after: null, cron_expression: null, parent_job_id: null, rerun_from_job_id: null };
  const spec = withSettings({ ...readSpec(original), ...fresh, id, created_at, run_group_id: id }, settings);
  const text = withVariables(decryptEnvironment(keys, original.id, original.environment), variables);
  return { spec, environment: await encryptEnvironment(db, keys, id, text) };
}
