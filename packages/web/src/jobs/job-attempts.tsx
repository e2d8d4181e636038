/** The attempts of a job, side by side. */
import { type Job, type JobAttempt, routes } from "@millrace/contract";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { Empty, Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { Time, Took } from "../look/time.tsx";
import "./job.css";
import { jobPath } from "../paths/job-paths.ts";
import { FailureText } from "./failure-text.tsx";

export function JobAttemptCards({ job }: { job: Job }) {
  const found = useApi(routes.getJobAttempts, { params: { job_id: job.id }, query: {} });
  return (
    <Read from={found}>
      {({ attempts, next_attempt_at }) => (
        <div className="stack">
          {attempts.length === 0 && <Empty title="No attempt has started yet" />}
          {next_attempt_at !== null && (
            <p>
              The next attempt starts <Time at={next_attempt_at} /> at the earliest.
            </p>
          )}
          <div className="attempts">
            {attempts.map((attempt) => (
              <Attempt key={attempt.number} job={job} attempt={attempt} />
            ))}
          </div>
        </div>
      )}
    </Read>
  );
}

const Attempt = ({ job, attempt }: { job: Job; attempt: JobAttempt }) => (
  <article className="card stack tight">
    <div className="row apart">
      <h2>Attempt {attempt.number}</h2>
      <Status status={attempt.status} />
    </div>
    <dl className="facts">
      <dt>Started</dt>
      <dd>
        <Time at={attempt.started_at} />
      </dd>
      <dt>Took</dt>
      <dd>
        <Took from={attempt.started_at} to={attempt.finished_at} />
      </dd>
      {attempt.exit_code !== null && (
        <>
          <dt>Exit code</dt>
          <dd>{attempt.exit_code}</dd>
        </>
      )}
    </dl>
    <FailureText message={attempt.error_message} stack={attempt.error_stack} />
    <p>
      <Link href={`${jobPath(job.team, job.id)}?attempt=${attempt.number}`}>Log of this attempt</Link>
    </p>
  </article>
);
