/**
 * A job as the API shows it. What never changes is stored as the JSON it is answered with (`spec`), so that showing a
 * job means writing its state in front of it. By hand, since this is what lists are made of: a serialiser that looks at
 * every field of twenty jobs took four times as long.
 */
import { answerLimits, type Job } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { clusterNameOf } from "../../store/queries/jobs/clusters.ts";
import type { ListedJob } from "../../store/queries/jobs/jobs.ts";
import { usernameOf } from "../../store/queries/people/users.ts";
import { nextRunOf } from "../../store/queries/schedules/tasks.ts";
import { beginningOf } from "../../store/queries/short-texts.ts";
import { decryptEnvironment } from "../secrets/encryption.ts";
import { parseEnvironment } from "../secrets/environment-text.ts";
import type { KeyRing } from "../secrets/key-ring.ts";

/** What never changes. */
export type JobSpecFields = Pick<
  Job,
  | "tags"
  | "id"
  | "name"
  | "created_at"
  | "home"
  | "query"
  | "query_type"
  | "workers"
  | "python_version"
  | "requirements"
  | "repository"
  | "script"
  | "reuse_listings"
  | "files"
  | "priority"
  | "compute_cluster_id"
  | "credentials_name"
  | "credentials_names"
  | "start_after"
  | "cron_expression"
  | "timezone"
  | "scheduled_at"
  | "scheduled_timezone"
  | "reset"
  | "timeout"
  | "retries"
  | "retry_delay"
  | "params"
  | "parent_job_id"
  | "rerun_from_job_id"
  | "run_group_id"
>;

/** Tags come first, so that a job that was made before there were any is known by its first letters. */
export const readSpec = ({ spec }: { spec: string }): JobSpecFields => ({
  tags: [],
  ...(JSON.parse(spec) as Omit<JobSpecFields, "tags">),
});

/** Where jobs are shown: the parts of their text that are alike for a whole list. */
export interface Frame {
  readonly publicUrl: string;
  readonly team: string;
  readonly includeSteps: boolean;
  /** Of many jobs what is long is cut, and the job says so; of one job everything is shown. */
  readonly many: boolean;
  readonly keys: KeyRing;
  /** Viewers of the team see which variables a job has, not what is in them. */
  readonly showsValues: boolean;
}

const quoted = (text: string | null) => (text === null ? "null" : JSON.stringify(text));
/** Of our own making: an id, a state, a time. Nothing in it needs escaping. */
const plain = (text: string | null) => (text === null ? "null" : `"${text}"`);

/** The texts of jobs of one team. */
export async function jobTexts(db: Db, rows: readonly ListedJob[], frame: Frame): Promise<string[]> {
  const users = await names(
    rows,
    (row) => row.user_id,
    (id) => usernameOf(db, id),
  );
  const clusters = await names(
    rows,
    (row) => row.cluster_id,
    (id) => clusterNameOf(db, id),
  );
  const url = quoted(`${frame.publicUrl}/team/${encodeURIComponent(frame.team)}/datasets/jobs/`).slice(0, -1);
  const team = quoted(frame.team);
  const texts: string[] = [];
  for (const row of rows) {
    const nextRun = row.status === "TASK" ? await nextRunOf(db, row.id) : null;
    texts.push(
      `{"url":${url}${row.id}","team":${team},"created_by":${users.get(row.user_id)},` +
        `"compute_cluster_name":${clusters.get(row.cluster_id)},"next_run":${plain(nextRun)},` +
        `"pipeline_id":${plain(row.pipeline_id)},"retried":${row.retried},` +
        stateText(row, frame) +
        cutText(row, frame) +
        (row.spec.startsWith('{"tags":') ? "" : '"tags":[],') +
        row.spec.slice(1),
    );
  }
  return texts;
}

/** Names by id, as JSON; each asked for once. */
async function names(
  rows: readonly ListedJob[],
  idOf: (row: ListedJob) => number,
  nameOf: (id: number) => Promise<string>,
) {
  const found = new Map<number, string>();
  for (const row of rows) {
    const id = idOf(row);
    if (!found.has(id)) found.set(id, quoted(await nameOf(id)));
  }
  return found;
}

/** Most jobs have no environment, and then nothing is decrypted. */
function environmentText({ id, environment }: ListedJob, { keys, showsValues }: Frame): string {
  if (environment === "" || environment === null) return "{}";
  const values = parseEnvironment(decryptEnvironment(keys, id, environment));
  return JSON.stringify(showsValues ? values : Object.fromEntries(Object.keys(values).map((name) => [name, "***"])));
}

function stateText(row: ListedJob, frame: Frame): string {
  const shown = (text: string | null) => quoted(text !== null && frame.many ? beginningOf(text) : text);
  return (
    `"status":"${row.status}","started_at":${plain(row.started_at)},"finished_at":${plain(row.finished_at)},` +
    `"environment":${environmentText(row, frame)},"exit_code":${row.exit_code},` +
    `"error_message":${shown(row.error_message)},"error_stack":${shown(row.error_stack)},` +
    `"metrics":${row.metrics ?? "{}"},"steps":${frame.includeSteps ? (row.steps ?? "[]") : "null"},`
  );
}

/** Nothing, where the job is shown whole: of one job only what was removed for its age is missing. */
function cutText(row: ListedJob, { many }: Frame): string {
  if (!many) return row.cut === "" ? "" : `"cut":${row.cut},`;
  const isLong = (text: string | null) => text !== null && text.length > answerLimits.listed;
  const cut = row.cut === "" ? [] : (JSON.parse(row.cut) as string[]);
  if (row.environment === null) cut.push("environment");
  if (row.metrics === null) cut.push("metrics");
  if (isLong(row.error_message)) cut.push("error_message");
  if (isLong(row.error_stack)) cut.push("error_stack");
  return cut.length === 0 ? "" : `"cut":${JSON.stringify(cut)},`;
}
