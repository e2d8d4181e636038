/** Pipelines rebuild datasets: they repeat the jobs that created these datasets, in order of dependency. */
import type { Static } from "typebox";
import { JobInput, jobStatuses } from "./jobs.ts";
import { fieldLimits } from "./limits.ts";
import { retriesText, retryDelayText, retryInput, timeoutText } from "./retries.ts";
import { access, defineRoute } from "./routes.ts";
import { Cut, maybe, nextCursor, nullable, oneOf, TeamName, Timestamp, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

/**
 * The state machine of pipelines. A PENDING pipeline is a template, from which a schedule or backfill makes copies; it
 * never runs itself. docs/pipelines.md draws the same graph, and a test compares the two.
 */
export const pipelineTransitions = {
  PENDING: [],
  RUNNING: ["PAUSED", "COMPLETED", "FAILED", "CANCELED"],
  PAUSED: ["RUNNING", "COMPLETED", "FAILED", "CANCELED"],
  COMPLETED: [],
  FAILED: ["RUNNING"],
  CANCELED: ["RUNNING"],
} as const satisfies Record<string, readonly string[]>;

export type PipelineStatus = keyof typeof pipelineTransitions;
export const pipelineStatuses = Object.keys(pipelineTransitions) as PipelineStatus[];

/** Groups of states. The server and the clients treat the states of a group alike. */
export const pipelineStates = {
  /** States in which runs can still start, at once or after the pipeline is resumed. */
  live: ["RUNNING", "PAUSED"],
  final: ["COMPLETED", "FAILED", "CANCELED"],
} as const satisfies Record<string, readonly PipelineStatus[]>;

/** The states in which each action is allowed. The server and all clients use this table. */
export const pipelineActions = {
  pause: ["RUNNING"],
  resume: ["PAUSED"],
  "remove-job": ["PAUSED"],
  settings: ["PENDING", "RUNNING", "PAUSED", "FAILED", "CANCELED"],
  cancel: pipelineStates.live,
  rerun: ["FAILED", "CANCELED"],
  "retry-job": ["RUNNING", "FAILED", "CANCELED"],
  "hand-over": ["RUNNING", "PAUSED", "FAILED", "CANCELED"],
} as const satisfies Record<string, readonly PipelineStatus[]>;

export type PipelineAction = keyof typeof pipelineActions;

/** Returns true unless the pipeline is COMPLETED, FAILED or CANCELED. */
export const isUnfinished = (status: PipelineStatus): boolean =>
  !(pipelineStates.final as readonly PipelineStatus[]).includes(status);

/**
 * Returns the exit code of a command that watched a pipeline to its end: 1 if the pipeline failed, 2 if it was
 * canceled, otherwise 0.
 */
export const watchExitCode = (status: PipelineStatus) => (status === "FAILED" ? 1 : status === "CANCELED" ? 2 : 0);

export const JobPipelineRun = Type.Object(
  {
    job_id: { ...Uuid, description: "the job that originally created the dataset" },
    created_job_id: nullable({ ...Uuid, description: "the job of this run; null in a template" }),
    name: Type.String({ description: "name of the original job, or its id" }),
    status: oneOf(jobStatuses, {
      description: "status of the run's job: PENDING until the runs it depends on are COMPLETE",
    }),
    parent_job_ids: Type.Array(Uuid, { description: "`job_id` of the runs that this run depends on" }),
    started_at: nullable(Timestamp),
    finished_at: nullable(Timestamp),
  },
  { $id: "JobPipelineRun" },
);
export type JobPipelineRun = Static<typeof JobPipelineRun>;

const given = "applies to all runs; null means that each run uses the value of its original job";

export const Pipeline = Type.Object(
  {
    pipeline_id: Uuid,
    name: Type.String({ description: "unique in the team" }),
    status: oneOf(pipelineStatuses, {
      description: "PENDING: the template of a schedule or backfill, which never runs itself",
    }),
    job_runs: Type.Array(JobPipelineRun, { description: "parents before children" }),
    completed: Type.Integer({ description: "number of COMPLETE runs" }),
    total: Type.Integer({ description: "number of runs" }),
    error_message: nullable(Type.String()),
    error_stack: nullable(Type.String()),
    triggered_from: Type.String({ description: "the first dataset as namespace.project.dataset, without a version" }),
    datasets: Type.Array(Type.String(), {
      description: "all datasets that the pipeline rebuilds, each with its version",
    }),
    created_at: Timestamp,
    created_by: Type.String({ description: "user name" }),
    updated_at: Timestamp,
    finished_at: nullable(Timestamp),
    is_template: Type.Boolean(),
    schedule_name: nullable(
      Type.String({ description: "the schedule that started the pipeline, or that has the pipeline as its template" }),
    ),
    schedule_id: nullable(Type.Integer({ description: "id of that schedule" })),
    scheduled_at: nullable({
      ...Timestamp,
      description: "the scheduled time of the runs, even if they start later; null if a user started the pipeline",
    }),
    scheduled_timezone: nullable(Type.String({ description: "IANA time zone of `scheduled_at`" })),
    python_version: nullable(Type.String({ description: given })),
    requirements: nullable(Type.String({ description: given })),
    repository: nullable(Type.String({ description: given })),
    workers: nullable(Type.Integer({ description: given })),
    priority: nullable(Type.Integer({ description: given })),
    environment_variables: Type.Record(Type.String(), Type.String(), {
      description: "variables added to every run; viewers see the names, each with the value `***`",
    }),
    files: nullable(Type.Array(Type.String(), { description: given })),
    credentials_names: nullable(Type.Array(Type.String(), { description: given })),
    reuse_listings: nullable(
      Type.Boolean({
        description: "true lets runs use cached listings of storages; otherwise they list again",
      }),
    ),
    timeout: nullable(Type.Integer({ description: `${timeoutText}; ${given}` })),
    retries: nullable(Type.Integer({ description: `${retriesText}; ${given}` })),
    retry_delay: nullable(Type.Integer({ description: `${retryDelayText}; ${given}` })),
    cut: Cut,
  },
  { $id: "JobPipelineOutput" },
);
export type Pipeline = Static<typeof Pipeline>;

export const PipelineOutput = Type.Object({ ok: Type.Boolean(), pipeline: Pipeline }, { $id: "PipelineOutput" });
export type PipelineOutput = Static<typeof PipelineOutput>;

const PipelineName = Type.String({ maxLength: 64, description: "name of a pipeline of the team" });

const TriggerPipelineInput = Type.Object(
  {
    team_name: maybe(TeamName),
    datasets: Type.Array(Type.String({ maxLength: 1024 }), {
      minItems: 1,
      maxItems: 1000,
      description:
        "name, project.name or namespace.project.name, optionally followed by @1.2.3; default: the latest version",
    }),
    review: maybe(Type.Boolean({ description: "true creates the pipeline in the state PAUSED, for review" })),
  },
  { $id: "TriggerPipelineInput" },
);
export type TriggerPipelineInput = Static<typeof TriggerPipelineInput>;

export const triggerPipeline = defineRoute({
  id: "triggerPipeline",
  method: "POST",
  path: "/api/datachain/pipeline/trigger",
  tag: "Pipelines",
  summary: "Rebuild datasets: run the jobs that created them and their dependencies again, in order",
  access: access("PIPELINES", "write", "editor"),
  body: TriggerPipelineInput,
  bodyLimit: "large",
  response: PipelineOutput,
  errors: ["not_found", "wrong_state", "insufficient_storage"],
});

const { python_version, requirements, repository, workers, priority, environment, files } = JobInput.properties;

const UpdatePipelineSettingsInput = Type.Object(
  {
    team_name: maybe(TeamName),
    pipeline_name: maybe(PipelineName),
    pipeline_id: maybe(Uuid),
    python_version,
    requirements,
    repository,
    workers,
    priority,
    environment,
    files,
    credentials_names: maybe(
      Type.Array(Type.String({ maxLength: 255 }), {
        maxItems: 100,
        description: "names of credentials; two sets with the same variable are refused",
      }),
    ),
    reuse_listings: maybe(
      Type.Boolean({ description: "true lets runs use cached listings of storages; false makes them list again" }),
    ),
    ...retryInput,
  },
  { $id: "UpdatePipelineSettingsInput" },
);
export type UpdatePipelineSettingsInput = Static<typeof UpdatePipelineSettingsInput>;

export const updatePipelineSettings = defineRoute({
  id: "updatePipelineSettings",
  method: "POST",
  path: "/api/datachain/pipeline/settings",
  tag: "Pipelines",
  summary:
    "Change settings of all runs that have not started. A null field changes nothing; an empty text or list removes the setting. Settings that would run your code in jobs of other users are refused",
  access: access("PIPELINES", "write", "editor"),
  body: UpdatePipelineSettingsInput,
  bodyLimit: "large",
  response: PipelineOutput,
  errors: ["not_found", "wrong_state"],
});

export const getPipeline = defineRoute({
  id: "getPipeline",
  method: "GET",
  path: "/api/datachain/pipeline/status",
  tag: "Pipelines",
  summary: "Read one pipeline with its runs, by name or id",
  access: access("PIPELINES", "read", "viewer"),
  query: Type.Object({
    team_name: Type.Optional(TeamName),
    name: Type.Optional(PipelineName),
    pipeline_id: Type.Optional(Uuid),
  }),
  response: Pipeline,
  errors: ["not_found"],
});

const ListPipelinesQuery = Type.Object({
  team_name: Type.Optional(TeamName),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, default: 20 })),
  status: Type.Optional(
    Type.Array(Type.String({ maxLength: fieldLimits.name }), {
      maxItems: 100,
      description: "states, case-insensitive; repeated or comma-separated",
    }),
  ),
  search: Type.Optional(
    Type.String({
      maxLength: 255,
      description: "text to find in the name of the pipeline or of one of its datasets; case-insensitive",
    }),
  ),
  cursor: Type.Optional(Uuid),
});
export type ListPipelinesQuery = Static<typeof ListPipelinesQuery>;

export const listPipelines = defineRoute({
  id: "listPipelines",
  method: "GET",
  path: "/api/datachain/pipeline/list",
  tag: "Pipelines",
  summary:
    "List pipelines, newest first, without the templates of schedules; a page has fewer pipelines than requested if they have very many runs",
  access: access("PIPELINES", "read", "viewer"),
  query: ListPipelinesQuery,
  bodyInQuery: "status",
  response: Type.Array(Pipeline),
  responseHeaders: nextCursor,
});

const PipelineInput = Type.Object(
  { team_name: maybe(TeamName), pipeline_id: maybe(Uuid), name: maybe(PipelineName) },
  { $id: "PipelineInput" },
);
export type PipelineInput = Static<typeof PipelineInput>;

const actionOnPipeline = <const Id extends string, const Path extends string>(id: Id, path: Path, summary: string) =>
  defineRoute({
    id,
    method: "POST",
    path: `/api/datachain/pipeline/${path}`,
    tag: "Pipelines",
    summary,
    access: access("PIPELINES", "write", "editor"),
    body: PipelineInput,
    response: PipelineOutput,
    errors: ["not_found", "wrong_state"],
  });

export const pausePipeline = actionOnPipeline(
  "pausePipeline",
  "pause",
  "Pause a pipeline: active runs finish, and no new runs start",
);
export const resumePipeline = actionOnPipeline(
  "resumePipeline",
  "resume",
  "Resume a pipeline: runs start once their parents are complete",
);
export const cancelPipeline = actionOnPipeline(
  "cancelPipeline",
  "cancel",
  "Cancel a pipeline: active runs are canceled, and no new runs start",
);
export const rerunPipeline = actionOnPipeline(
  "rerunPipeline",
  "rerun",
  "Run failed and canceled runs of a pipeline again; complete runs are not repeated",
);

const PipelineJobInput = Type.Object(
  {
    ...PipelineInput.properties,
    job_id: Type.String({ minLength: 1, maxLength: 64, description: "`created_job_id` or `job_id` of a run" }),
  },
  { $id: "RemoveJobFromPipelineInput" },
);

export const removeJobFromPipeline = defineRoute({
  id: "removeJobFromPipeline",
  method: "POST",
  path: "/api/datachain/pipeline/remove-job",
  tag: "Pipelines",
  summary: "Remove a run from a paused pipeline; its children then depend on its parents",
  access: access("PIPELINES", "write", "editor"),
  body: PipelineJobInput,
  response: PipelineOutput,
  errors: ["not_found", "wrong_state"],
});

export const retryPipelineJob = defineRoute({
  id: "retryPipelineJob",
  method: "POST",
  path: "/api/datachain/pipeline/retry-job",
  tag: "Pipelines",
  summary: "Retry only one run that failed or was canceled",
  access: access("PIPELINES", "write", "editor"),
  body: PipelineJobInput,
  response: PipelineOutput,
  errors: ["not_found", "wrong_state"],
});
