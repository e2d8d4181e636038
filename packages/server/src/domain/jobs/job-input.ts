/** Creates a new job from the input of a request: checks the input, and fills in defaults. */
import { basename, normalize } from "node:path";
import { ApiError, invalid, type JobInput, localEngine } from "@millrace/contract";
import { checkLibrary } from "../../datachain/requirements.ts";
import { runtimeOf } from "../../runtimes/runtimes.ts";
import type { ScriptMetadata } from "../../runtimes/script-metadata.ts";
import { usesLibrary } from "../../runtimes/uses-library.ts";
import type { Db, Store } from "../../store/drivers/store.ts";
import type { ClusterRow } from "../../store/queries/jobs/clusters.ts";
import { fieldsGivenBack, getShortJob, type JobRow, type ShortJob } from "../../store/queries/jobs/jobs.ts";
import type { Actor } from "../access/audit.ts";
import { type Principal, requireLiveCreator, requirePerson, type Team, tokenToRemember } from "../access/principals.ts";
import { type JobSpecFields, readSpec } from "../lifecycle/job-documents.ts";
import { newJobId } from "../lifecycle/job-ids.ts";
import { readEnvironment } from "../secrets/environment-text.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { checkCron, readTime } from "../time/ticks.ts";
import { checkTimezone } from "../time/time-zones.ts";
import { resolveCluster } from "./clusters.ts";
import { readFileIds } from "./files.ts";
import { namesIn, requireNamedByJob, resolveCredentials } from "./job-credentials.ts";
import { checkParams, checkRequirements, checkTogether, environmentRoom } from "./job-limits.ts";

export interface JobInputContext {
  readonly store: Store;
  readonly keys: KeyRing;
  /** Time zone for a `start_after` without an offset, if the request names no time zone. */
  readonly timezone: string;
  /** Host folders that jobs may use. A file:// repository must be inside one of them. */
  readonly jobPaths: readonly string[];
}

/** A request to create a job. */
export interface Creation {
  readonly principal: Principal;
  readonly actor: Actor;
  readonly team: Team;
  readonly input: JobInput;
  readonly idempotencyKey: string | undefined;
}

/** Checks the input and returns the spec, the row and the environment of the new job, and the name of its cluster. */
export async function newJob(context: JobInputContext, { principal, team, input }: Creation, now: number) {
  requireLiveCreator(principal);
  const runtime = runtimeOf(input.query_type);
  const script = checkScript(input);
  const query = input.query ?? "";
  const found = runtime.readMetadata(query);
  const workers = Math.max(1, input.workers ?? found.workers ?? 1);
  const cluster = await resolveCluster(context.store.db, team.id, input, workers);
  const { startAfter, cron, timezone } = readTimes(input, context.timezone);
  if (startAfter || cron)
    requirePerson(
      principal,
      "create a job that begins later or repeats: the new job would still run after this job has ended",
    );
  const id = newJobId(now);
  const holder = { team_id: team.id, user_id: principal.userId };
  const credentials = await resolveCredentials(context.store.db, holder, input);
  await requireNamedByJob(context.store.db, principal, namesIn(credentials));
  const spec: JobSpecFields = {
    tags: [...new Set(input.tags ?? [])],
    id,
    name: input.query_name || (script && basename(script)) || null,
    created_at: iso(now),
    query,
    query_type: input.query_type,
    workers,
    python_version: checkVersion(input.python_version?.trim() || found.pythonVersion),
    requirements: checkLibrary(checkRequirements(input.requirements?.trim() || found.requirements || null)),
    repository: checkRepository(input.repository, context.jobPaths),
    ...(script === null ? {} : { script }),
    files: readFileIds(input.files ?? []).map(String),
    priority: input.priority ?? 5,
    compute_cluster_id: cluster.id,
    ...credentials,
    start_after: startAfter,
    cron_expression: cron,
    ...(timezone && (startAfter || cron) ? { timezone } : {}),
    reset: input.reset ?? false,
    ...ownRules(input, found),
    params: checkParams({ ...found.params, ...input.params }),
    parent_job_id: null,
    ...(await rerunOf(context.store.db, team, input, id)),
  };
  if (cluster.engine !== localEngine && usesLibrary(spec)) throw datasetsElsewhere(cluster.name);
  const row = newRow({ team, principal, cluster, spec });
  return { spec, row, cluster: cluster.name, environment: checkedEnvironment(input.environment) };
}

const datasetsElsewhere = (name: string) =>
  invalid(
    "compute_cluster_name",
    "local, because the job uses the dataset library and the datasets are on the server's own machine",
    name,
  );

/**
 * Returns the time limit and the retry settings that the input or the script sets. A setting that neither sets is left
 * out; each attempt then uses the default that the team has at that time.
 */
function ownRules(input: JobInput, found: ScriptMetadata): Pick<JobSpecFields, "timeout" | "retries" | "retry_delay"> {
  const rules = {
    timeout: input.timeout ?? found.timeout,
    retries: input.retries ?? found.retries,
    retry_delay: input.retry_delay ?? found.retryDelay,
  };
  return Object.fromEntries(Object.entries(rules).filter(([, value]) => value !== undefined));
}

/**
 * Checks the variables in a dotenv text and returns the text, not yet encrypted. Returns an empty text if no variables
 * are set, for example if there are only comments.
 */
export function checkedEnvironment(text: string | null | undefined): string {
  if (!text) return "";
  const values = checkTogether(readEnvironment(text), "environment", environmentRoom);
  return Object.keys(values).length > 0 ? text : "";
}

interface NewJob {
  readonly team: Team;
  readonly principal: Principal;
  readonly cluster: ClusterRow;
  readonly spec: JobSpecFields;
}

const newRow = ({ team, principal, cluster, spec }: NewJob): JobRow => ({
  id: spec.id,
  team_id: team.id,
  user_id: principal.userId,
  cluster_id: cluster.id,
  name: spec.name,
  status: spec.start_after || spec.cron_expression ? "TASK" : "CREATED",
  attempt: 0,
  retried: 0,
  spec: JSON.stringify(spec),
  environment: "",
  secrets: "",
  scopes: JSON.stringify(principal.scopes),
  token_id: tokenToRemember(principal),
  metrics: "{}",
  exit_code: null,
  error_message: null,
  error_stack: null,
  steps: null,
  parent_job_id: spec.parent_job_id,
  pipeline_id: null,
  origin_id: null,
  created_at: spec.created_at,
  started_at: null,
  finished_at: null,
  log_removed_at: null,
  log_bytes: null,
});

function readTimes(input: JobInput, serverTimezone: string) {
  const timezone = input.timezone?.trim() ? checkTimezone(input.timezone) : undefined;
  const startAfter = input.start_after ? readTime(input.start_after, timezone ?? serverTimezone, "start_after") : null;
  const cron = input.cron_expression?.trim() ? checkCron(input.cron_expression) : null;
  return { startAfter, cron, timezone };
}

/**
 * Returns the fields that link a job to the earlier job that it reruns. The client sends the id of the last job that
 * ran the same script, even if that job ran on another server. So an unknown id is ignored.
 */
async function rerunOf(db: Db, team: Team, input: JobInput, ownId: string) {
  const sourceId = input.rerun_from_job_id;
  const source = sourceId ? await getShortJob(db, sourceId) : undefined;
  if (!source || source.team_id !== team.id) return { rerun_from_job_id: null, run_group_id: ownId };
  requireWhole(source, input);
  return { rerun_from_job_id: source.id, run_group_id: readSpec(source).run_group_id };
}

/**
 * Throws if the input contains a field of the earlier job that the server has shortened. The server shortens long
 * fields of jobs that ended long ago. A client that copies such a field would run only the beginning of a script.
 */
function requireWhole(source: ShortJob, input: JobInput): void {
  const spec = readSpec(source) as unknown as Record<string, unknown>;
  const given = input as unknown as Record<string, unknown>;
  const isShown = (name: string) =>
    name === "environment" ? !input.environment?.trim() : JSON.stringify(spec[name]) === JSON.stringify(given[name]);
  const field = fieldsGivenBack(source).find(isShown);
  if (field === undefined) return;
  if (field === "environment")
    throw new ApiError(
      "wrong_state",
      `environment: the server no longer has the variables of the job ${source.id}, which ended long ago. Send them again.`,
    );
  throw new ApiError(
    "wrong_state",
    `${field}: the server has only the beginning of the ${field} of the job ${source.id}, which ended long ago. Send the whole ${field}.`,
  );
}

/**
 * Returns the path of the script in the repository; null if the input has a query instead. Throws if the path leads out
 * of the repository. Symbolic links are checked later, in the cloned repository.
 */
function checkScript({ script: given, query, repository }: JobInput): string | null {
  const script = given?.trim();
  if (!script) {
    if (query === undefined)
      throw invalid(
        "query",
        "a value, got none. To run a script of a repository, send `script` and `repository` instead",
      );
    return null;
  }
  if (query)
    throw invalid(
      "script",
      "only one of `query` and `script`, got both. With `script`, the job runs a script of the repository",
    );
  if (!repository?.trim())
    throw invalid("repository", `the git URL of the repository that contains the script ${script}, got none`);
  const strange = (part: string) => ["", ".", ".."].includes(part) || part.toLowerCase() === ".git";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused here
  if (script.split("/").some(strange) || /[\x00-\x1f\x7f]/.test(script))
    throw invalid(
      "script",
      "a path below the root of the repository, such as etl/report.py (without control characters and the parts `.`, `..` and `.git`)",
      script,
    );
  return script;
}

/**
 * Returns a Python version after checking its form: `3.12`, `3.12.1`, or conditions such as `>=3.10,<3.13`. Whether an
 * interpreter of that version exists is checked later, by the engine.
 */
export function checkVersion(text: string | undefined): string | null {
  if (!text) return null;
  const condition = /^([<>]=?|[=!~]=)? ?v?\d+(\.\d+)*(\.\*)?$/;
  if (text.split(",").every((part) => condition.test(part.trim()))) return text;
  throw invalid("python_version", "a version such as 3.12, or conditions such as >=3.10,<3.13", text);
}

/** Decodes the percent-encoding of a path as git does: `%2e` is a dot. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw invalid("repository", "a URL with valid percent-encoding", path);
  }
}

/**
 * Returns the address of a repository; null if none is given. Throws if the address is neither a URL nor of the form
 * `git@host:path`, or if git would parse a part of it as an option. A file:// URL must be below one of `jobPaths`.
 */
export function checkRepository(text: string | null | undefined, jobPaths: readonly string[]): string | null {
  const repository = text?.trim();
  if (!repository) return null;
  const known = /^(https?|ssh|git|file):\/\/[^\s]+$/i.test(repository) || /^[\w.-]+@[\w.-]+:[^\s]+$/.test(repository);
  if (!known)
    throw invalid(
      "repository",
      "a git URL (https, ssh, git, file) or git@host:path, optionally with @revision",
      repository,
    );
  if (/@-[^/]*$/.test(repository))
    throw invalid("repository", "a revision that does not begin with a hyphen", repository);
  const local = /^file:\/\/[^/]*(\/.*)$/i.exec(repository)?.[1];
  if (local && !jobPaths.some((path) => normalize(decoded(local)).startsWith(`${path}/`))) {
    throw invalid(
      "repository",
      "a file:// URL below a folder that the operator lists in MILLRACE_JOB_PATHS",
      repository,
    );
  }
  return repository;
}
