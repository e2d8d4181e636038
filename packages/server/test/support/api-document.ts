/**
 * The description of the API as facts: every field of every object, every endpoint, every rule. The tests prove each
 * fact on a running server; a fact without a proof fails.
 */

/** Types in the description. `map` is an object of strings. */
type FieldType =
  | "uuid"
  | "timestamp"
  | "string"
  | "integer"
  | "boolean"
  | "object"
  | "map"
  | "uuids"
  | "JobPipelineRun[]"
  | "Pipeline"
  | "User"
  | "PipelineSchedule";

const item = {
  id: "integer",
  schedule_name: "string",
  created_at: "timestamp",
  updated_at: "timestamp",
  start_after: "timestamp",
  cron_expression: "string",
  next_run: "timestamp",
  created_by: "User",
} as const;

export const objects = {
  Job: {
    id: "uuid",
    url: "string",
    status: "string",
    created_at: "timestamp",
    created_by: "string",
    finished_at: "timestamp",
    query: "string",
    query_type: "string",
    team: "string",
    name: "string",
    workers: "integer",
    python_version: "string",
    requirements: "string",
    repository: "string",
    environment: "map",
    exit_code: "integer",
    error_message: "string",
    error_stack: "string",
    params: "object",
    metrics: "object",
    parent_job_id: "uuid",
    rerun_from_job_id: "uuid",
    run_group_id: "uuid",
  },
  ActionFeedback: { message: "string" },
  UploadFileOutput: { id: "integer", filename: "string", size: "integer", state: "string", error: "string" },
  ComputeClusterOutput: {
    id: "integer",
    name: "string",
    status: "string",
    cloud_provider: "string",
    cloud_credentials: "string",
    is_active: "boolean",
    default: "boolean",
    max_workers: "integer",
  },
  Pipeline: {
    pipeline_id: "uuid",
    status: "string",
    job_runs: "JobPipelineRun[]",
    completed: "integer",
    total: "integer",
    error_message: "string",
    error_stack: "string",
    triggered_from: "string",
    name: "string",
    created_at: "timestamp",
    updated_at: "timestamp",
    is_template: "boolean",
    schedule_name: "string",
    python_version: "string",
    requirements: "string",
    repository: "string",
    workers: "integer",
    priority: "integer",
    environment_variables: "map",
  },
  JobPipelineRun: {
    job_id: "uuid",
    status: "string",
    parent_job_ids: "uuids",
    name: "string",
    created_job_id: "uuid",
  },
  PipelineSchedule: { ...item, latest_run: "Pipeline", pipeline: "Pipeline" },
  PipelineScheduleItem: item,
  User: { username: "string", first_name: "string", last_name: "string" },
  PipelineOutput: { ok: "boolean", pipeline: "Pipeline" },
  PipelineScheduleUpdateOutput: { ok: "boolean", schedule: "PipelineSchedule" },
  DeletePipelineScheduleOutput: { ok: "boolean" },
} as const satisfies Record<string, Record<string, FieldType>>;

export type ObjectName = keyof typeof objects;

/** Fields of requests. */
export const inputs = {
  "Job input": [
    "query",
    "query_type",
    "team_name",
    "environment",
    "workers",
    "query_name",
    "rerun_from_job_id",
    "files",
    "python_version",
    "requirements",
    "repository",
    "priority",
    "compute_cluster_name",
    "compute_cluster_id",
    "start_after",
    "cron_expression",
    "credentials_name",
    "reset",
  ],
  "Cancel input": ["team_name"],
  CreatePipelineScheduleInput: ["schedule_name", "team_name", "pipeline_name", "start_after", "cron_expression"],
  UpdatePipelineScheduleInput: [
    "schedule_name",
    "team_name",
    "schedule_id",
    "start_after",
    "cron_expression",
    "pause_pipeline",
  ],
  DeletePipelineScheduleInput: ["team_name", "schedule_id"],
  TriggerPipelineInput: ["datasets", "team_name", "review"],
  UpdatePipelineSettingsInput: [
    "team_name",
    "pipeline_name",
    "python_version",
    "requirements",
    "repository",
    "workers",
    "priority",
    "environment",
    "files",
    "credentials_names",
  ],
  PipelineInput: ["team_name", "pipeline_id", "name"],
  RemoveJobFromPipelineInput: ["team_name", "pipeline_id", "name", "job_id"],
} as const;

type Scope = "JOB:read" | "JOB:write";

export interface Endpoint {
  readonly response: ObjectName | readonly [ObjectName] | "any";
  /** The scope, if the description names one. */
  readonly scope?: Scope;
}

/** Path below the base URL, which ends in /api. */
export const endpoints = {
  "GET /datachain/jobs/": { response: ["Job"], scope: "JOB:read" },
  "POST /datachain/jobs/": { response: "Job", scope: "JOB:write" },
  "GET /datachain/jobs/{job_id}/logs": { response: "any", scope: "JOB:read" },
  "POST /datachain/jobs/{job_id}/cancel": { response: "ActionFeedback", scope: "JOB:write" },
  "POST /datachain/jobs/files": { response: "UploadFileOutput", scope: "JOB:write" },
  "GET /datachain/clusters/": { response: ["ComputeClusterOutput"] },
  "POST /datachain/pipeline/create-schedule": { response: "PipelineScheduleUpdateOutput" },
  "POST /datachain/pipeline/update-schedule": { response: "PipelineScheduleUpdateOutput" },
  "POST /datachain/pipeline/delete-schedule": { response: "DeletePipelineScheduleOutput" },
  "GET /datachain/pipeline/schedule": { response: "PipelineSchedule" },
  "GET /datachain/pipeline/schedules": { response: ["PipelineScheduleItem"] },
  "POST /datachain/pipeline/trigger": { response: "PipelineOutput" },
  "POST /datachain/pipeline/settings": { response: "PipelineOutput" },
  "GET /datachain/pipeline/status": { response: "Pipeline" },
  "POST /datachain/pipeline/pause": { response: "PipelineOutput" },
  "POST /datachain/pipeline/resume": { response: "PipelineOutput" },
  "POST /datachain/pipeline/remove-job": { response: "PipelineOutput" },
  "GET /datachain/pipeline/list": { response: ["Pipeline"] },
} as const satisfies Record<string, Endpoint>;

export type EndpointName = keyof typeof endpoints;

/** All other statements of the description. */
export const rules = [
  "a job that is created is CREATED",
  "a pipeline that is triggered is RUNNING",
  "a compute cluster is ACTIVE",
  "the list of jobs may be filtered by status",
  "the logs of an active job can be read",
  "a running job can be canceled",
  "a queued job can be canceled",
  "compute_cluster_name and compute_cluster_id must not both be given",
  "an upload is multipart/form-data with one part `file`, for the team of its query",
  "the id of an upload goes into the files of a job",
  "a pipeline is paused and resumed",
  "pause_pipeline pauses the schedule's pipeline when true",
  "one pipeline is created for all listed datasets combined",
  "the jobs needed to rebuild the dependencies of all listed datasets are run",
  "a dataset may be fully qualified with its version",
  "without a version the latest is used",
  "triggered_from has the form namespace.project.dataset",
  "an item of the schedule list has neither latest_run nor pipeline",
  "the list of pipelines takes an array of strings as its body",
  "the status of a pipeline is read in the scope of a team",
  "a token comes from a command-line login",
  "a token comes from the tokens page of the web UI settings",
  "a token is sent as Authorization: Bearer",
  "tokens carry scopes with read and write access",
  "the url of a job is a link to it in the web UI",
  "a failed job says so in exit_code, error_message and error_stack",
  "a failed pipeline says so in error_message and error_stack",
  "paths carry no version segment, and the interface is labelled 1.0.0",
] as const;

export type Rule = (typeof rules)[number];
