/** The job that was started last from the editor: its state and its log, beside the code. */
import { isIn, type Job, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { WhyQueued } from "../jobs/why-queued.tsx";
import { LogViewer } from "../logs/log-viewer.tsx";
import { ButtonLink } from "../look/button.tsx";
import { Empty } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { Time, Took } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import { taskPath } from "../paths/schedule-paths.ts";

export const RunPanel = ({ jobId }: { jobId: string }) => (
  <section className="run-panel stack tight" aria-label="Last run">
    {jobId === "" ? (
      <Empty title="Nothing ran yet">
        <p>
          Press Run, or <kbd>Ctrl</kbd> or <kbd>⌘</kbd> + <kbd>Enter</kbd>. The log of the script appears here.
        </p>
      </Empty>
    ) : (
      <Run key={jobId} jobId={jobId} />
    )}
  </section>
);

function Run({ jobId }: { jobId: string }) {
  const team = useTeam();
  const found = useApi(routes.listJobs, { query: { job_id: jobId, include_steps: true } }).data?.[0];
  // The answer about the job before stays until this one's is there.
  const job = found?.id === jobId ? found : undefined;
  return (
    <>
      <header className="row wrap apart">
        <div className="row wrap">
          <h2 className="cut">{job?.name ?? "Job"}</h2>
          <Status status={job?.status ?? "CREATED"} />
          {job && job.started_at !== null && <Took from={job.started_at} to={job.finished_at} />}
        </div>
        {job?.status === "TASK" ? (
          <ButtonLink icon="right" href={taskPath(team, jobId)}>
            Open the task
          </ButtonLink>
        ) : (
          <ButtonLink icon="right" href={jobPath(team, jobId)}>
            Open the job
          </ButtonLink>
        )}
      </header>
      {job && <Notes job={job} />}
      {job && job.status !== "TASK" && <LogViewer job={job} />}
    </>
  );
}

const Notes = ({ job }: { job: Job }) => (
  <>
    {job.status === "TASK" && (
      <p>
        The task creates jobs at its times. Next run: <Time at={job.next_run} />
      </p>
    )}
    <WhyQueued job={job} />
    {isIn("final", job.status) && job.error_message !== null && (
      <p className="problem" role="alert">
        {job.error_message}
      </p>
    )}
  </>
);
