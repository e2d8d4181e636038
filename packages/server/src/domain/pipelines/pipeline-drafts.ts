/**
 * Drafts: the jobs of a pipeline's runs before they begin. Each draft repeats an earlier job, called its original, with
 * the rights of the user who created the original.
 */

import type { Db } from "../../store/drivers/store.ts";
import { eachPart } from "../../store/queries/batches.ts";
import { insertTagRows } from "../../store/queries/jobs/job-tags.ts";
import type { TextRefs } from "../../store/queries/jobs/job-texts.ts";
import { insertJobs, type NewJob, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import type { Transaction } from "../access/edit.ts";
import { type JobSpecFields, readSpec } from "../lifecycle/job-documents.ts";
import { newJobId } from "../lifecycle/job-ids.ts";
import { type Moment, withMoment } from "../lifecycle/scheduled-moments.ts";
import { decryptEnvironment, encryptEnvironment } from "../secrets/encryption.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { type PipelineSettings, withSettings, withVariables } from "./pipeline-settings.ts";

/** Values from which the contents of all drafts of a pipeline are computed. */
export interface ContentFrame {
  readonly keys: KeyRing;
  readonly pipelineId: string;
  readonly settings: PipelineSettings;
  readonly variables: Readonly<Record<string, string>>;
  /** Scheduled time of the pipeline; undefined if somebody started it by hand. */
  readonly moment: Moment | undefined;
}

/** Values that all drafts of a pipeline share. A draft is the job of a run that has not begun. */
export interface DraftFrame extends ContentFrame {
  /** Id of the access token that the drafts remember; null if they remember none. */
  readonly tokenId: number | null;
}

/**
 * Maximum total size of the drafts (jobs that have not begun) of one pipeline, in bytes. There is a limit because one
 * transaction writes all drafts. Long texts do not count, because the drafts share them.
 */
export const mostDraftText = 8 * 1024 * 1024;

interface Drafts {
  /** Ids of the drafts, by the ids of the jobs that they repeat. */
  readonly ids: ReadonlyMap<string, string>;
  /** Bytes of long texts that were added to the store: the texts of the pipeline's settings. */
  readonly added: number;
}

/** Drafts that are built and encrypted before other work gets the event loop. */
const draftedAtOnce = 100;

/** Inserts a draft for each of these jobs. A draft is a job that has not begun; it repeats the given job. */
export async function insertDrafts(
  transaction: Transaction,
  originals: Iterable<ShortJob>,
  frame: DraftFrame,
): Promise<Drafts> {
  const { db } = transaction;
  const drafts = new Map<string, NewJob>();
  const draft = async (part: readonly ShortJob[]) => {
    for (const original of part) drafts.set(original.id, await newDraft(transaction, original, frame));
  };
  await eachPart([...originals], draft, draftedAtOnce);
  const jobs = [...drafts.values()];
  const added = await insertJobs(db, jobs);
  const tagsOf = (job: NewJob) => readSpec(job).tags.map((tag) => ({ team_id: job.team_id, tag, job_id: job.id }));
  await insertTagRows(db, jobs.flatMap(tagsOf));
  return { ids: new Map([...drafts].map(([jobId, { id }]) => [jobId, id])), added };
}

/**
 * Returns a draft (a job that has not begun) that repeats a job from the beginning. The draft has a new run group and
 * is not marked as a rerun, so the library finds no checkpoints of earlier runs.
 */
async function newDraft({ db, now }: Transaction, original: ShortJob, frame: DraftFrame): Promise<NewJob> {
  const id = newJobId(now);
  const own = { id, created_at: iso(now) };
  const { spec, texts, environment } = await draftContent(db, original, own, frame);
  return {
    ...own,
    team_id: original.team_id,
    user_id: original.user_id,
    cluster_id: original.cluster_id,
    name: original.name,
    status: "PENDING",
    attempt: 0,
    spec: JSON.stringify(spec),
    texts,
    environment,
    secrets: "",
    scopes: original.scopes,
    token_id: frame.tokenId,
    metrics: "{}",
    pipeline_id: frame.pipelineId,
    origin_id: original.origin_id ?? original.id,
  };
}

/**
 * Returns the spec, texts and encrypted environment of a job that has not begun. If the pipeline's settings change
 * before the job begins, this is called again.
 */
export async function draftContent(
  db: Db,
  original: ShortJob,
  { id, created_at }: Pick<JobSpecFields, "id" | "created_at">,
  { keys, settings, variables, moment }: ContentFrame,
): Promise<{ spec: JobSpecFields; texts: TextRefs; environment: string }> {
  const fresh = { start_after: null, cron_expression: null, parent_job_id: null, rerun_from_job_id: null };
  // The original may be a run of another pipeline: then its reuse_listings is a setting of that pipeline only.
  const { reuse_listings: _, ...own } = readSpec(original);
  const draft = { ...own, ...fresh, id, created_at, run_group_id: id };
  const spec = withMoment(withSettings(draft, settings), moment);
  const text = withVariables(decryptEnvironment(keys, original.id, original.environment), variables);
  return {
    spec,
    texts: withoutSet(original.texts, settings),
    environment: await encryptEnvironment(db, keys, id, text),
  };
}

/** Returns the long texts of the repeated job, without those that a setting of the pipeline replaces. */
const withoutSet = (texts: TextRefs, settings: PipelineSettings): TextRefs =>
  Object.fromEntries(Object.entries(texts).filter(([field]) => settings[field as keyof PipelineSettings] == null));
