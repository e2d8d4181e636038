/** One job of a pipeline, beside the graph: its state, why it failed or waits, and what can be done. */
import { type JobPipelineRun, type Pipeline, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { FailureText } from "../jobs/failure-text.tsx";
import { ButtonLink } from "../look/button.tsx";
import { Status } from "../look/status.tsx";
import { Time, Took } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import { parentsOf } from "./pipeline-actions.ts";
import { RemoveButton, RetryButton } from "./run-buttons.tsx";
import { namesOf, reasonNotRun } from "./run-reasons.ts";

export function RunPanel({ pipeline, run }: { pipeline: Pipeline; run: JobPipelineRun }) {
  const team = useTeam();
  const id = run.created_job_id;
  const found = useApi(routes.listJobs, { query: { job_id: id ?? "" } }, { enabled: id !== null });
  const job = found.data?.find((one) => one.id === id);
  const reason = reasonNotRun(pipeline, run);
  return (
    <aside className="card stack tight run-beside" aria-label={`Job ${run.name}`}>
      <h2>{run.name}</h2>
      <Status status={run.status} />
      {job && <FailureText message={job.error_message} stack={job.error_stack} />}
      {reason !== undefined && <p>{reason}</p>}
      <RunFacts pipeline={pipeline} run={run} />
      <div className="row wrap">
        {id !== null && (
          <ButtonLink href={jobPath(team, id)} icon="right">
            Open the job
          </ButtonLink>
        )}
        <RetryButton pipeline={pipeline} run={run} />
        <RemoveButton pipeline={pipeline} run={run} />
      </div>
    </aside>
  );
}

function RunFacts({ pipeline, run }: { pipeline: Pipeline; run: JobPipelineRun }) {
  const parents = parentsOf(pipeline, run);
  const children = pipeline.job_runs.filter(({ parent_job_ids }) => parent_job_ids.includes(run.job_id));
  return (
    <dl className="facts small">
      <dt>Started</dt>
      <dd>
        <Time at={run.started_at} />
      </dd>
      <dt>Took</dt>
      <dd>
        <Took from={run.started_at} to={run.finished_at} />
      </dd>
      <dt>Needs</dt>
      <dd>{parents.length > 0 ? namesOf(parents) : "–"}</dd>
      <dt>Needed by</dt>
      <dd>{children.length > 0 ? namesOf(children) : "–"}</dd>
    </dl>
  );
}
