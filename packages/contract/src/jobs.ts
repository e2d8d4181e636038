/** Jobs: fields, states, transitions, allowed actions and routes. */
import type { Static } from "typebox";
import { fieldLimits, processLimits } from "./limits.ts";
import { retryInput, retrySettings } from "./retries.ts";
import { access, defineRoute } from "./routes.ts";
import {
  ActionFeedback,
  AnyMap,
  boundedText,
  Cut,
  JobTag,
  maybe,
  nextCursor,
  nullable,
  oneOf,
  TeamName,
  Timestamp,
  Timezone,
  Uuid,
} from "./schema.ts";
import { Type } from "./type.ts";

export const queryTypes = ["PYTHON", "SHELL", "TYPESCRIPT"] as const;
export type QueryType = (typeof queryTypes)[number];

/**
 * The state machine of jobs. Each change of state follows one of these edges, by one SQL statement that checks the
 * current state. docs/jobs.md draws the same graph, and a test compares the two.
 */
export const jobTransitions = {
  PENDING: ["CREATED", "CANCELED"],
  CREATED: ["SCHEDULED", "QUEUED", "INIT", "PROVISIONING", "CANCELING_SCHEDULED", "FAILED", "PENDING"],
  SCHEDULED: ["QUEUED", "INIT", "PROVISIONING", "CANCELING_SCHEDULED", "FAILED", "PENDING"],
  QUEUED: ["INIT", "PROVISIONING", "CANCELING_SCHEDULED", "FAILED", "PENDING"],
  PROVISIONING: ["INIT", "RUNNING", "COMPLETE", "FAILED", "CANCELING", "QUEUED"],
  INIT: ["RUNNING", "COMPLETE", "FAILED", "CANCELING", "QUEUED"],
  RUNNING: ["COMPLETE", "FAILED", "CANCELING", "QUEUED"],
  CANCELING_SCHEDULED: ["CANCELED"],
  CANCELING: ["CANCELED", "COMPLETE", "FAILED"],
  TASK: ["COMPLETE", "CANCELED"],
  COMPLETE: [],
  FAILED: [],
  CANCELED: [],
} as const satisfies Record<string, readonly string[]>;

export type JobStatus = keyof typeof jobTransitions;
export const jobStatuses = Object.keys(jobTransitions) as JobStatus[];

/** Groups of states. The server and the clients treat the states of a group alike. */
export const jobStates = {
  /** The job is a run of a pipeline and not queued yet, because it depends on runs that are not complete. */
  draft: ["PENDING"],
  /** The job waits for free slots or for a retry. No attempt is running. */
  waiting: ["CREATED", "SCHEDULED", "QUEUED"],
  /** The job has an attempt that has not ended, and the job has not been canceled. */
  begun: ["PROVISIONING", "INIT", "RUNNING"],
  canceling: ["CANCELING_SCHEDULED", "CANCELING"],
  final: ["COMPLETE", "FAILED", "CANCELED"],
} as const satisfies Record<string, readonly JobStatus[]>;

export type FinalStatus = (typeof jobStates.final)[number];

export const isIn = (group: keyof typeof jobStates, status: JobStatus | null) =>
  (jobStates[group] as readonly (JobStatus | null)[]).includes(status);

/**
 * Tells whether a client can stop following a job. This is so if the job has ended, or if it is a TASK, which never
 * runs itself and only creates other jobs.
 */
export const isSettled = (status: JobStatus) => status === "TASK" || isIn("final", status);

/** The states that the status filter ACTIVE includes. PROVISIONING is not one of them. */
const active: readonly JobStatus[] = [...jobStates.waiting, "INIT", "RUNNING", ...jobStates.canceling];

/** Groups of states that the status filter accepts by name, in addition to single states. */
export const statusGroups: Record<string, readonly JobStatus[]> = {
  ACTIVE: active,
  INACTIVE: jobStatuses.filter((s) => !active.includes(s)),
};

/** The states in which each action is allowed. The server and all clients use this table. */
export const jobActions = {
  cancel: [...jobStates.waiting, ...jobStates.begun, "TASK"],
  rerun: jobStatuses.filter((s) => s !== "PENDING"),
} as const satisfies Record<string, readonly JobStatus[]>;

export const allows = (action: keyof typeof jobActions, status: JobStatus) =>
  (jobActions[action] as readonly JobStatus[]).includes(status);

/**
 * Returns the exit code of a command that followed a job to its end: 1 if the job failed, 2 if it was canceled,
 * otherwise 0.
 */
export const followExitCode = (status: JobStatus) => (status === "FAILED" ? 1 : status === "CANCELED" ? 2 : 0);

const Step = Type.Object({
  name: Type.String({ description: "one of repository, files, environment, datasets, query" }),
  label: Type.String(),
  started_at: Timestamp,
  finished_at: nullable(Timestamp),
});
export type Step = Static<typeof Step>;

export const Job = Type.Object(
  {
    id: Uuid,
    url: Type.String({ description: "URL of the job's page" }),
    status: oneOf(jobStatuses),
    name: nullable(Type.String()),
    team: Type.String(),
    created_by: Type.String({ description: "user name" }),
    home: Type.Optional(
      Type.String({
        description: "user whose namespace the job's short dataset names refer to; absent if it is `created_by`",
      }),
    ),
    created_at: Timestamp,
    started_at: nullable(Timestamp),
    finished_at: nullable(Timestamp),
    query: Type.String(),
    query_type: oneOf(queryTypes),
    workers: Type.Integer(),
    python_version: nullable(Type.String()),
    requirements: nullable(Type.String()),
    repository: nullable(Type.String()),
    script: Type.Optional(
      nullable(Type.String({ description: "path of the script in the repository, if the job has no `query`" })),
    ),
    reuse_listings: Type.Optional(
      Type.Boolean({ description: "whether the run may use cached listings of storages; set by the pipeline" }),
    ),
    environment: Type.Record(Type.String(), Type.String(), {
      description:
        "values are shown to editors and admins of the team; viewers see the names, each with the value `***`",
    }),
    files: Type.Array(Type.String(), { description: "ids of the attached files" }),
    tags: Type.Array(JobTag),
    priority: Type.Integer({ description: "0 runs first, 5 last" }),
    compute_cluster_id: nullable(Type.Integer()),
    compute_cluster_name: nullable(Type.String()),
    credentials_name: nullable(Type.String({ description: "credentials of the job; the first if it has several" })),
    credentials_names: Type.Optional(
      Type.Array(Type.String(), { description: "all credentials of the job; absent if it has at most one" }),
    ),
    start_after: nullable(Timestamp),
    cron_expression: nullable(Type.String()),
    timezone: Type.Optional({
      ...Timezone,
      description: "time zone of the task's cron expression; absent: UTC",
    } as typeof Timezone),
    next_run: nullable(Timestamp),
    scheduled_at: Type.Optional({
      ...Timestamp,
      description: "the scheduled time of the run, even if the run started later",
    } as typeof Timestamp),
    scheduled_timezone: Type.Optional(
      Type.String({
        description: "IANA time zone of `scheduled_at`; both fields are absent for a run that a user started",
      }),
    ),
    reset: Type.Boolean(),
    ...retrySettings,
    retried: Type.Integer({ description: "number of retries so far" }),
    exit_code: nullable(Type.Integer()),
    error_message: nullable(Type.String({ description: "why the job failed and, if known, what to do about it" })),
    error_stack: nullable(
      Type.String({ description: "the traceback of a Python script, or the last lines of the log if there is none" }),
    ),
    params: AnyMap,
    metrics: AnyMap,
    parent_job_id: nullable(Uuid),
    pipeline_id: nullable({ ...Uuid, description: "the pipeline that the run belongs to" }),
    rerun_from_job_id: nullable(Uuid),
    run_group_id: Uuid,
    steps: nullable(Type.Array(Step)),
    cut: Cut,
  },
  { $id: "Job" },
);
export type Job = Static<typeof Job>;

const condition = "([<>]=?|[=!~]=)? ?v?\\d+(\\.\\d+)*(\\.\\*)?";
const PythonVersion = Type.String({
  maxLength: 64,
  pattern: `^\\s*(${condition}(\\s*,\\s*${condition})*)?\\s*$`,
  description: "a version such as 3.12, or conditions such as >=3.10,<3.13",
});

/** Id of an uploaded file. Clients send it as a string or as a number. */
const FileId = Type.Unsafe<string | number>({
  type: ["string", "integer"],
  pattern: "^\\d{1,10}$",
  minimum: 1,
  maximum: 2_147_483_647,
  description: "the id of an uploaded file",
});

export const JobInput = Type.Object(
  {
    query: Type.Optional(
      boundedText(
        fieldLimits.query,
        "text of the script; required unless `script` names a file in the repository",
        "Move data and modules into attached files or a repository.",
      ),
    ),
    query_type: oneOf(queryTypes, { description: "TYPESCRIPT is not supported yet and is refused" }),
    team_name: maybe(TeamName),
    query_name: maybe(Type.String({ maxLength: fieldLimits.name, description: "name of the job" })),
    environment: maybe(
      boundedText(
        fieldLimits.environment,
        `NAME=VALUE lines in dotenv format; the name and value of a variable may have at most ${processLimits.variable} bytes`,
        "Attach long values as files.",
        { writeOnly: true },
      ),
    ),
    workers: maybe(
      Type.Integer({
        minimum: 0,
        maximum: 2_147_483_647,
        description: "number of slots of the cluster that the job occupies; 0 counts as 1",
      }),
    ),
    python_version: maybe(PythonVersion),
    requirements: maybe(
      boundedText(
        fieldLimits.requirements,
        `the text of a requirements file, in lines of at most ${processLimits.requirementsLine} bytes`,
        "Attach a requirements file and name it with `-r FILE`.",
      ),
    ),
    repository: maybe(
      Type.String({ maxLength: fieldLimits.repository, description: "git URL, optionally with @revision" }),
    ),
    script: maybe(
      Type.String({
        maxLength: fieldLimits.script,
        description: "path of a script in the repository, read at each start; replaces `query`",
      }),
    ),
    files: maybe(
      Type.Array(FileId, {
        maxItems: fieldLimits.files,
        description: "ids of uploaded files",
        "x-instead": "Attach an archive instead.",
      }),
    ),
    tags: maybe(
      Type.Array(JobTag, {
        maxItems: fieldLimits.tags,
        description: "labels for finding the job; duplicates are ignored",
      }),
    ),
    priority: maybe(Type.Integer({ minimum: 0, maximum: 5, description: "0 runs first; default 5" })),
    compute_cluster_name: maybe(
      Type.String({ maxLength: 255, description: "name of the cluster; a number is also accepted as its id" }),
    ),
    compute_cluster_id: maybe(
      Type.Integer({
        minimum: 0,
        maximum: 2_147_483_647,
        description: "id of the cluster; cannot be combined with compute_cluster_name",
      }),
    ),
    start_after: maybe(
      Type.String({
        maxLength: 64,
        description: "ISO 8601; a time without an offset is in `timezone`, or by default in the server's time zone",
      }),
    ),
    cron_expression: maybe(
      Type.String({
        maxLength: 255,
        description: "five fields, or @hourly @daily @midnight @weekly @monthly @yearly @annually",
      }),
    ),
    timezone: maybe({
      ...Timezone,
      description:
        "time zone of `cron_expression` and `start_after`: an IANA name such as Europe/Berlin; default: UTC for `cron_expression`, the server's time zone for `start_after`",
    }),
    credentials_name: maybe(
      Type.String({
        maxLength: 255,
        description:
          "names of your own or the team's credentials, separated by commas; if absent, the team's default is used; if empty, none",
      }),
    ),
    credentials_names: maybe(
      Type.Array(Type.String({ maxLength: 255 }), {
        maxItems: 100,
        description:
          "the same names as a list; two sets with the same variable are refused; cannot be combined with credentials_name",
      }),
    ),
    rerun_from_job_id: maybe(
      Type.String({ maxLength: 255, description: "id of the job that this job repeats; an unknown id is ignored" }),
    ),
    reset: maybe(Type.Boolean({ description: "true starts from scratch and ignores checkpoints of earlier runs" })),
    ...retryInput,
    params: maybe({
      ...AnyMap,
      "x-max-bytes": processLimits.params,
      description: `at most ${processLimits.params} bytes as JSON; the job gets them in the variable DATACHAIN_QUERY_PARAMS`,
    } as typeof AnyMap),
  },
  { $id: "JobInput" },
);
export type JobInput = Static<typeof JobInput>;

const ListJobsQuery = Type.Object({
  team_name: Type.Optional(TeamName),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10000, default: 20 })),
  status: Type.Optional(
    Type.Array(Type.String({ maxLength: fieldLimits.name }), {
      maxItems: 100,
      description: "states, ACTIVE or INACTIVE, case-insensitive; repeated or comma-separated",
    }),
  ),
  job_id: Type.Optional(Uuid),
  include_steps: Type.Optional(Type.Boolean({ default: false })),
  name: Type.Optional(Type.String({ maxLength: 255, description: "exactly this name" })),
  created_by: Type.Optional(Type.String({ maxLength: 255, description: "user name" })),
  search: Type.Optional(
    Type.String({
      maxLength: 255,
      description:
        "text to find in the name or in the query, case-insensitive; searches only the part of a long query that lists show",
    }),
  ),
  tag: Type.Optional(
    Type.Array(JobTag, { maxItems: 20, description: "repeat the parameter to find jobs that have all given tags" }),
  ),
  created_after: Type.Optional(
    Type.String({
      maxLength: 64,
      description: "ISO 8601, inclusive; a time without an offset is in the server's time zone",
    }),
  ),
  created_before: Type.Optional(
    Type.String({
      maxLength: 64,
      description: "ISO 8601, exclusive; a time without an offset is in the server's time zone",
    }),
  ),
  cluster: Type.Optional(Type.String({ maxLength: 255, description: "name or id of a cluster" })),
  parent_job_id: Type.Optional(Uuid),
  cursor: Type.Optional(Uuid),
});
export type ListJobsQuery = Static<typeof ListJobsQuery>;

export const JobParams = Type.Object({ job_id: Uuid });

export const listJobs = defineRoute({
  id: "listJobs",
  method: "GET",
  path: "/api/datachain/jobs/",
  tag: "Jobs",
  summary: "List jobs, newest first",
  access: access("JOB", "read", "viewer"),
  query: ListJobsQuery,
  response: Type.Array(Job),
  responseHeaders: nextCursor,
});

export const createJob = defineRoute({
  id: "createJob",
  method: "POST",
  path: "/api/datachain/jobs/",
  tag: "Jobs",
  summary: "Create a job, or a task that creates jobs if start_after or cron_expression is given",
  access: access("JOB", "write", "editor"),
  headers: Type.Object({
    "idempotency-key": Type.Optional(
      Type.String({
        maxLength: 255,
        description: "a second request with the same key returns the job that the first one created",
      }),
    ),
  }),
  body: JobInput,
  bodyLimit: "large",
  response: Job,
  errors: ["wrong_state", "insufficient_storage"],
});

const UsageSample = Type.Object({
  at: Timestamp,
  cpu_seconds: Type.Number({ description: "CPU time of all processes of the job so far, in seconds" }),
  memory_bytes: Type.Integer({ description: "memory in use at that time" }),
  processes: Type.Integer(),
});
export type UsageSample = Static<typeof UsageSample>;

export const JobUsage = Type.Object(
  {
    samples: Type.Array(UsageSample, {
      description: "one sample per second at first, then less often as the job runs longer",
    }),
    peak_memory_bytes: nullable(Type.Integer({ description: "the largest `memory_bytes` of all samples" })),
    cpu_seconds: nullable(Type.Number()),
  },
  { $id: "JobUsage" },
);
export type JobUsage = Static<typeof JobUsage>;

export const getJobUsage = defineRoute({
  id: "getJobUsage",
  method: "GET",
  path: "/api/datachain/jobs/{job_id}/usage",
  tag: "Jobs",
  summary: "Read the CPU and memory usage of a job, during the run and after it",
  access: access("JOB", "read", "viewer"),
  params: JobParams,
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: JobUsage,
  errors: ["not_found"],
});

export const cancelJob = defineRoute({
  id: "cancelJob",
  method: "POST",
  path: "/api/datachain/jobs/{job_id}/cancel",
  tag: "Jobs",
  summary: "Cancel a waiting or running job, or a task",
  access: access("JOB", "write", "editor"),
  params: JobParams,
  body: Type.Object({ team_name: maybe(TeamName) }),
  response: ActionFeedback,
  errors: ["not_found", "wrong_state"],
});
