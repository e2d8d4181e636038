/** Why a job waits: its place in the queue, what holds the slots, and whatever else keeps it from starting. */
import type { Static } from "typebox";
import { JobParams, jobStatuses } from "./jobs.ts";
import { access, defineRoute } from "./routes.ts";
import { nullable, oneOf, TeamName, Timestamp, Uuid } from "./schema.ts";
import { Type } from "./type.ts";

/** Reasons why a job does not start. */
const waitReasons = ["slots", "order", "quota", "maintenance", "paused", "files", "retry", "pipeline", "time"] as const;

const Reason = Type.Object({
  kind: oneOf(waitReasons, {
    description:
      "`slots`: too few are free; `order`: others are first; `quota`: the team runs as many jobs as it may; `maintenance`: the team's warehouse is being cleaned up; `paused`: the cluster starts no jobs; `files`: they are not on the server's machine; `retry`: the delay after a failure; `pipeline`: the pipeline is paused, or earlier runs are not complete; `time`: a task between two runs",
  }),
  message: Type.String({ description: "the reason in words" }),
});

const Holder = Type.Object({
  job_id: Uuid,
  name: nullable(Type.String()),
  created_by: Type.String({ description: "user name" }),
  started_at: Timestamp,
  slots: Type.Integer(),
});

/** The most jobs ahead of a job that are counted, and the most jobs that are listed as holders of slots. */
export const waitLimits = { ahead: 1000, holders: 10 } as const;

export const JobWait = Type.Object(
  {
    status: oneOf(jobStatuses),
    reasons: Type.Array(Reason, {
      description: "empty if the job does not wait, or starts within a moment; the reason that lasts longest is first",
    }),
    position: nullable(
      Type.Integer({
        description: `place in the queue of the cluster, counted over all teams; 1 is next; null if the job waits for more than slots. At most ${waitLimits.ahead + 1}, which means that or more`,
      }),
    ),
    until: nullable({ ...Timestamp, description: "earliest start, if it is known" }),
    cluster: Type.String({ description: "name of the cluster" }),
    slots_needed: Type.Integer(),
    slots_busy: Type.Integer({ description: "slots of the cluster in use, by all teams" }),
    slots_total: Type.Integer(),
    holders: Type.Array(Holder, {
      description: `jobs of the team that hold slots of the cluster, the oldest first, at most ${waitLimits.holders}`,
    }),
    slots_of_others: Type.Integer({ description: "slots of the cluster that other teams use" }),
  },
  { $id: "JobWait" },
);
export type JobWait = Static<typeof JobWait>;

export const getJobWait = defineRoute({
  id: "getJobWait",
  method: "GET",
  path: "/api/datachain/jobs/{job_id}/wait",
  tag: "Jobs",
  summary: "Explain why a job waits",
  access: access("JOB", "read", "viewer"),
  params: JobParams,
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: JobWait,
  errors: ["not_found"],
});
