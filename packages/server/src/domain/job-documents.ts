/**
 * A job as the API shows it. What never changes is stored as the JSON it is answered with (`spec`), so that showing a
 * job means writing down its state and setting the rest beside it, not taking twenty rows apart and putting them
 * together again.
 */
import type { Job } from "@millrace/contract";
import type { JobRow, NamedJobRow } from "../store/jobs.ts";
import { readEnvironment } from "./environment-text.ts";

/** What never changes. */
export type JobSpecFields = Pick<
  Job,
  | "query"
  | "query_type"
  | "workers"
  | "python_version"
  | "requirements"
  | "repository"
  | "files"
  | "priority"
  | "credentials_name"
  | "start_after"
  | "cron_expression"
  | "reset"
  | "params"
  | "rerun_from_job_id"
  | "run_group_id"
>;

/** Stored as JSON already, and set beside the rest as they are. */
type JsonColumns = "metrics" | "steps";

export const readSpec = ({ spec }: JobRow): JobSpecFields => JSON.parse(spec) as JobSpecFields;

export interface Surroundings {
  readonly publicUrl: string;
  readonly team: string;
  readonly includeSteps: boolean;
}

/** The text of a Job. */
export function jobJson(row: NamedJobRow, { publicUrl, team, includeSteps }: Surroundings): string {
  const state: Omit<Job, keyof JobSpecFields | JsonColumns> = {
    id: row.id,
    url: `${publicUrl}/team/${encodeURIComponent(team)}/datasets/jobs/${row.id}`,
    status: row.status,
    name: row.name,
    team,
    created_by: row.username,
    created_at: row.created_at,
    started_at: row.started_at,
    finished_at: row.finished_at,
    environment: row.environment === "" ? {} : readEnvironment(row.environment),
    compute_cluster_id: row.cluster_id,
    compute_cluster_name: row.cluster_name,
    next_run: row.next_run,
    exit_code: row.exit_code,
    error_message: row.error_message,
    error_stack: row.error_stack,
    parent_job_id: row.parent_job_id,
  };
  const steps = includeSteps ? (row.steps ?? "[]") : "null";
  return `${JSON.stringify(state).slice(0, -1)},"metrics":${row.metrics},"steps":${steps},${row.spec.slice(1)}`;
}

export const toJob = (row: NamedJobRow, surroundings: Surroundings): Job =>
  JSON.parse(jobJson(row, surroundings)) as Job;
