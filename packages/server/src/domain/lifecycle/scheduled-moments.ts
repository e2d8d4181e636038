/**
 * The moment that a run is for: the tick of its schedule or task, however late it began. It stays with a run that is
 * repeated. What is asked for by hand has none.
 */
import type { Job } from "@millrace/contract";
import type { PipelineRow } from "../../store/queries/pipelines/pipelines.ts";
import { dateAt } from "../time/time-zones.ts";
import type { JobSpecFields } from "./job-documents.ts";

export type Moment = Required<Pick<Job, "scheduled_at" | "scheduled_timezone">>;

/** Undefined: it was asked for by hand. */
export function momentOfPipeline(row: Pick<PipelineRow, "scheduled_at" | "scheduled_timezone">): Moment | undefined {
  const { scheduled_at, scheduled_timezone } = row;
  return scheduled_at === null ? undefined : { scheduled_at, scheduled_timezone: scheduled_timezone ?? "UTC" };
}

/** A job for this moment and no other: the one that it repeats may have been for another, or for none. */
export function withMoment(spec: JobSpecFields, moment: Moment | undefined): JobSpecFields {
  const { scheduled_at: _at, scheduled_timezone: _zone, ...rest } = spec;
  return { ...rest, ...moment };
}

/** What a job is told: as variables, and as parameters, which hold before its own. */
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
