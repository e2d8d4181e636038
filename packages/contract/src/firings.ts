/** Firings: what became of the ticks of a schedule, and how the schedule fares by them. */
import type { Static } from "typebox";
import { pipelineStatuses } from "./pipelines.ts";
import { nullable, oneOf, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";

const scheduleHealths = ["ok", "failing", "skipping", "overdue", "paused"] as const;
export type ScheduleHealth = (typeof scheduleHealths)[number];

const firingOutcomes = ["fired", "failed", "skipped", "missed", "waits"] as const;
export type FiringOutcome = (typeof firingOutcomes)[number];

/** Firings that are kept of a schedule, the newest ones. */
export const mostFirings = 50;

/** What lists and single schedules tell of how one fares. */
export const healthFields = {
  health: oneOf(scheduleHealths, {
    description:
      "`overdue`: its time has passed, and it has not fired; `failing`: the newest tick could not run, or the last run that ended failed; `skipping`: the newest tick was dropped; a run that completes ends `failing`, one that begins ends `skipping`",
  }),
  health_reason: nullable(Type.String({ description: "in plain words; null: it is ok" })),
  skipped: Type.Integer({ description: "how many ticks came to nothing, because of `overlap`, `catch_up` or a pause" }),
};

export const ScheduleFiring = Type.Object(
  {
    tick: { ...Timestamp, description: "the time that it was meant for; of several the first" },
    ticks: Type.Integer({ description: "how many ticks it stands for; counted up to 100" }),
    at: { ...Timestamp, description: "when that was decided" },
    late_seconds: Type.Integer({ description: "how long after its time that was; within a minute it is on time" }),
    outcome: oneOf(firingOutcomes, {
      description:
        "`fired`: a pipeline began; `failed`: none could, or it failed at once; `skipped` and `missed`: none was to; `waits`: it begins when the last run has ended",
    }),
    reason: nullable(Type.String({ description: "why it did not begin" })),
    pipeline_name: nullable(Type.String({ description: "the pipeline that began" })),
    pipeline_status: nullable(oneOf(pipelineStatuses, { description: "how it fares now" })),
    finished_at: nullable({ ...Timestamp, description: "when it ended" }),
  },
  { $id: "ScheduleFiring" },
);
export type ScheduleFiring = Static<typeof ScheduleFiring>;
