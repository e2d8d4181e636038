/**
 * Builds the JSON text of jobs for the API. The column `spec` stores, as JSON, the fields of a job that do not change
 * once the job has begun. So the text of a job is its state followed by its spec. The state is concatenated by hand,
 * for speed: a serializer that visits every field takes four times as long for a list of twenty jobs.
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

/** The fields of a job that do not change once the job has begun. */
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

/** Parses the spec of a job. The default of `tags` is for specs that were stored before jobs had tags. */
export const readSpec = ({ spec }: { spec: string }): JobSpecFields => ({
  tags: [],
  ...(JSON.parse(spec) as Omit<JobSpecFields, "tags">),
});

/** Options and values that are the same for all jobs of one answer. */
export interface Frame {
  readonly publicUrl: string;
  readonly team: string;
  readonly includeSteps: boolean;
  /** Whether the answer is a list. In a list, long texts are cut, and the field `cut` of the job names them. */
  readonly many: boolean;
  readonly keys: KeyRing;
  /** Whether the values of environment variables are shown. Viewers of the team see the names only. */
  readonly showsValues: boolean;
}

const quoted = (text: string | null) => (text === null ? "null" : JSON.stringify(text));
/**
 * Returns a text in quotes, without escaping. Use it only for texts that the server generated: ids, states and times.
 */
const plain = (text: string | null) => (text === null ? "null" : `"${text}"`);

/** Names of users and clusters by their ids, as quoted JSON strings. */
interface Names {
  readonly users: Map<number, string>;
  readonly clusters: Map<number, string>;
}

/** Returns the JSON text of a job whose creator and cluster the caller knows by name. */
export async function jobTextOf(
  db: Db,
  row: ListedJob,
  frame: Frame,
  { username, cluster }: { readonly username: string; readonly cluster: string },
): Promise<string> {
  const users = new Map([[row.user_id, quoted(username)]]);
  const clusters = new Map([[row.cluster_id, quoted(cluster)]]);
  return (await textsWith(db, [row], frame, { users, clusters }))[0] ?? "null";
}

/** Returns the JSON texts of jobs of one team. */
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
  return textsWith(db, rows, frame, { users, clusters });
}

async function textsWith(
  db: Db,
  rows: readonly ListedJob[],
  frame: Frame,
  { users, clusters }: Names,
): Promise<string[]> {
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
        // A spec that was stored before jobs had tags does not begin with them.
        (row.spec.startsWith('{"tags":') ? "" : '"tags":[],') +
        row.spec.slice(1),
    );
  }
  return texts;
}

/** Returns the names of users or clusters by their ids, as quoted JSON strings. Each name is queried once. */
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

/** Returns the environment variables of a job as a JSON object. Their values are hidden unless `showsValues` is set. */
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

/**
 * Returns the field `cut` of a job as JSON: the names of the fields that are not shown in full. Returns an empty text
 * if there are none.
 */
function cutText(row: ListedJob, { many }: Frame): string {
  // A single job is shown in full, except for the fields that retention shortened.
  if (!many) return row.cut === "" ? "" : `"cut":${row.cut},`;
  const isLong = (text: string | null) => text !== null && text.length > answerLimits.listed;
  const cut = row.cut === "" ? [] : (JSON.parse(row.cut) as string[]);
  if (row.environment === null) cut.push("environment");
  if (row.metrics === null) cut.push("metrics");
  if (isLong(row.error_message)) cut.push("error_message");
  if (isLong(row.error_stack)) cut.push("error_stack");
  return cut.length === 0 ? "" : `"cut":${JSON.stringify(cut)},`;
}
