/** The page of a job. */
import { ApiError, type Job, routes } from "@millrace/contract";
import { useParams } from "wouter";
import { useApi } from "../api/calls.ts";
import { LogViewer } from "../logs/log-viewer.tsx";
import { Screen } from "../look/screen.tsx";
import { LoadError, Read } from "../look/states.tsx";
import { Status, wordOf } from "../look/status.tsx";
import { Time, Took } from "../look/time.tsx";
import { JobUsagePlots } from "./job-usage.tsx";
import { RecentRuns } from "./recent-runs.tsx";

export default function JobScreen() {
  const { id = "" } = useParams();
  const found = useApi(routes.listJobs, { query: { job_id: id, include_steps: true } });
  return <Read from={found}>{([job]) => (job ? <JobPage job={job} /> : <NoJob id={id} />)}</Read>;
}

const NoJob = ({ id }: { id: string }) => (
  <Screen title="Job">
    <LoadError error={new ApiError("not_found", `There is no job ${id} in this team.`)} />
  </Screen>
);

const JobPage = ({ job }: { job: Job }) => (
  <Screen
    title={job.name ?? "Job"}
    tab={`${wordOf(job.status)}: ${job.name ?? job.id}`}
    beside={<Status status={job.status} />}
  >
    <dl className="facts">
      <dt>Id</dt>
      <dd className="mono">{job.id}</dd>
      <dt>Created</dt>
      <dd>
        <Time at={job.created_at} /> by {job.created_by}
      </dd>
      <dt>Took</dt>
      <dd>
        <Took from={job.started_at} to={job.finished_at} />
      </dd>
    </dl>
    {job.error_message !== null && <p className="bad">{job.error_message}</p>}
    {job.error_stack !== null && <pre className="code">{job.error_stack}</pre>}
    <pre className="code">{job.query}</pre>
    <LogViewer job={job} />
    <JobUsagePlots job={job} />
    {job.name !== null && <RecentRuns name={job.name} />}
  </Screen>
);
