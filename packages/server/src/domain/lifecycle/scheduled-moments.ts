/**
 * The scheduled time of a run: the time at which its schedule or task was due, however late the run began. A rerun
 * keeps that time. A run that somebody started by hand has no scheduled time.
 */
import type { Job } from "@millrace/contract";
import type { PipelineRow } from "../../store/queries/pipelines/pipelines.ts";
import { dateAt } from "../time/time-zones.ts";
import type { JobSpecFields } from "./job-documents.ts";

export type Moment = Required<Pick<Job, "scheduled_at" | "scheduled_timezone">>;

/** Returns the scheduled time of a pipeline; undefined if somebody started it by hand. */
export function momentOfPipeline(row: Pick<PipelineRow, "scheduled_at" | "scheduled_timezone">): Moment | undefined {
  const { scheduled_at, scheduled_timezone } = row;
  return scheduled_at === null ? undefined : { scheduled_at, scheduled_timezone: scheduled_timezone ?? "UTC" };
}

/**
 * Replaces the scheduled time in the spec of a repeated job. If `moment` is undefined, the scheduled time is removed.
 */
export function withMoment(spec: JobSpecFields, moment: Moment | undefined): JobSpecFields {
  const { scheduled_at: _at, scheduled_timezone: _zone, ...rest } = spec;
  return { ...rest, ...moment };
}

/**
 * Returns the scheduled time of a job as environment variables and as parameters. Both are empty if the job has no
 * scheduled time. They override the job's own variables and parameters of the same names.
 */
export function momentTold({ scheduled_at, scheduled_timezone = "UTC" }: JobSpecFields) {
  if (scheduled_at === undefined) return { variables: {}, params: {} };
  const scheduled_date = dateAt(Date.parse(scheduled_at), scheduled_timezone);
  return {
    variables: {
      MILLRACE_SCHEDULED_AT: scheduled_at,
      MILLRACE_SCHEDULED_DATE: scheduled_date,
      MILLRACE_SCHEDULED_TIMEZONE: scheduled_timezone,
    },
    params: { scheduled_at, scheduled_date, scheduled_timezone },
  };
}
