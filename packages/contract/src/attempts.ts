/** Attempts of a job: the first attempt, and the retries after failures. */
import type { Static } from "typebox";
import { JobParams, jobStatuses } from "./jobs.ts";
import { access, defineRoute } from "./routes.ts";
import { nullable, oneOf, TeamName, Timestamp } from "./schema.ts";
import { Type } from "./type.ts";

const JobAttempt = Type.Object({
  number: Type.Integer({
    description: "1 for the first attempt; pass the number as `attempt` to read the log of this attempt",
  }),
  status: oneOf(jobStatuses, { description: "FAILED for every attempt that was followed by another" }),
  started_at: nullable(Timestamp),
  finished_at: nullable(Timestamp),
  exit_code: nullable(Type.Integer()),
  error_message: nullable(Type.String({ description: "why the attempt failed; a long text is truncated" })),
  error_stack: nullable(Type.String({ description: "a long text is truncated" })),
});
export type JobAttempt = Static<typeof JobAttempt>;

export const JobAttempts = Type.Object(
  {
    attempts: Type.Array(JobAttempt, { description: "attempts that have started, oldest first" }),
    next_attempt_at: nullable({
      ...Timestamp,
      description: "earliest start of the next attempt, while the job waits for a retry",
    }),
    waits_for: nullable(
      Type.String({ description: "what a queued job waits for besides free slots and a retry: `files`" }),
    ),
    timeout: Type.Integer({ description: "time limit of an attempt in seconds; 0 means no limit" }),
    retries: Type.Integer({ description: "maximum number of retries" }),
    retry_delay: Type.Integer({ description: "seconds before the first retry" }),
  },
  { $id: "JobAttempts", description: "The limits apply to the next attempt: the job's own, or its team's defaults." },
);
export type JobAttempts = Static<typeof JobAttempts>;

export const getJobAttempts = defineRoute({
  id: "getJobAttempts",
  method: "GET",
  path: "/api/datachain/jobs/{job_id}/attempts",
  tag: "Jobs",
  summary: "List the attempts of a job, each with its times, exit code and reason for failing",
  access: access("JOB", "read", "viewer"),
  params: JobParams,
  query: Type.Object({ team_name: Type.Optional(TeamName) }),
  response: JobAttempts,
  errors: ["not_found"],
});
