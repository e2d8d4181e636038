/** Firings: what happened each time a schedule was due. The health of a schedule is derived from its firings. */
import type { Static } from "typebox";
import { pipelineStatuses } from "./pipelines.ts";
import { nullable, oneOf, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";

const scheduleHealths = ["ok", "failing", "skipping", "overdue", "paused"] as const;
export type ScheduleHealth = (typeof scheduleHealths)[number];

const firingOutcomes = ["fired", "failed", "skipped", "missed", "waits"] as const;
export type FiringOutcome = (typeof firingOutcomes)[number];

/** Maximum number of firings that are stored for each schedule. Older firings are deleted. */
export const mostFirings = 50;

/** Fields about the health of a schedule. They are part of lists and of single schedules. */
export const healthFields = {
  health: oneOf(scheduleHealths, {
    description:
      "`overdue`: the schedule should have fired and has not; `failing`: the newest tick could not start a run, or the newest ended run failed, and no run has completed since; `skipping`: the newest tick was dropped, and no run has started since",
  }),
  health_reason: nullable(Type.String({ description: "why the health is not ok; null if it is" })),
  skipped: Type.Integer({ description: "ticks that started no run because of `overlap`, `catch_up` or a pause" }),
};

export const ScheduleFiring = Type.Object(
  {
    tick: { ...Timestamp, description: "the scheduled time; the earliest one if the entry covers several ticks" },
    ticks: Type.Integer({ description: "number of ticks that the entry covers, at most 100" }),
    at: { ...Timestamp, description: "when the outcome was decided" },
    late_seconds: Type.Integer({
      description: "seconds between the scheduled time and the firing; up to 60 seconds count as on time",
    }),
    outcome: oneOf(firingOutcomes, {
      description:
        "`fired`: a pipeline started; `failed`: the pipeline could not start, or failed at once; `skipped`: dropped because of `overlap`; `missed`: not fired in time, and `catch_up` starts no run for it later; `waits`: a pipeline starts when the previous run has ended",
    }),
    reason: nullable(Type.String({ description: "why no run started" })),
    pipeline_name: nullable(Type.String({ description: "the pipeline that started" })),
    pipeline_status: nullable(oneOf(pipelineStatuses, { description: "current status of that pipeline" })),
    finished_at: nullable({ ...Timestamp, description: "when that pipeline ended" }),
  },
  { $id: "ScheduleFiring" },
);
export type ScheduleFiring = Static<typeof ScheduleFiring>;
