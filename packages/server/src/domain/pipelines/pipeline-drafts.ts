/** Drafts: the jobs of a pipeline's runs, each like an original, fresh, and under its creator's rights. */

import type { Db } from "../../store/drivers/store.ts";
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

/** What a pipeline gives to all its drafts. */
export interface DraftFrame {
  readonly keys: KeyRing;
  readonly pipelineId: string;
  readonly settings: PipelineSettings;
  readonly variables: Readonly<Record<string, string>>;
  /** Undefined: none. */
  readonly moment: Moment | undefined;
}

/** What the drafts of one pipeline have of their own, in characters: all are written at once. Long texts are shared. */
export const mostDraftText = 8 * 1024 * 1024;

interface Drafts {
  /** By those of the originals. */
  readonly ids: ReadonlyMap<string, string>;
  /** Bytes of long texts that the store did not have yet: of settings. */
  readonly added: number;
}

/** A draft for each original. */
export async function insertDrafts(
  transaction: Transaction,
  originals: Iterable<ShortJob>,
  frame: DraftFrame,
): Promise<Drafts> {
  const { db } = transaction;
  const drafts = new Map<string, NewJob>();
  for (const original of originals) drafts.set(original.id, await newDraft(transaction, original, frame));
  const jobs = [...drafts.values()];
  const added = await insertJobs(db, jobs);
  const tagsOf = (job: NewJob) => readSpec(job).tags.map((tag) => ({ team_id: job.team_id, tag, job_id: job.id }));
  await insertTagRows(db, jobs.flatMap(tagsOf));
  return { ids: new Map([...drafts].map(([jobId, { id }]) => [jobId, id])), added };
}

/** A run group of its own and nothing to rerun from: no checkpoint is found, so everything is made anew. */
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
    metrics: "{}",
    pipeline_id: frame.pipelineId,
    origin_id: original.origin_id ?? original.id,
  };
}

/** What a draft is made of, also when the settings change before it begins. The environment is encrypted anew: it is bound to its row. */
export async function draftContent(
  db: Db,
  original: ShortJob,
  { id, created_at }: Pick<JobSpecFields, "id" | "created_at">,
  { keys, settings, variables, moment }: DraftFrame,
): Promise<{ spec: JobSpecFields; texts: TextRefs; environment: string }> {
  const fresh = { start_after: null, cron_expression: null, parent_job_id: null, rerun_from_job_id: null };
  // What another pipeline set for its runs is not part of what they are.
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

/** What is set for all runs takes the place of the original's own text. */
const withoutSet = (texts: TextRefs, settings: PipelineSettings): TextRefs =>
  Object.fromEntries(Object.entries(texts).filter(([field]) => settings[field as keyof PipelineSettings] == null));
