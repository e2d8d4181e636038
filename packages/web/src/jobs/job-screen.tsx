/** The page of a job. */
import { ApiError, type Job, routes } from "@millrace/contract";
import type { ReactNode } from "react";
import { useParams } from "wouter";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { LogViewer } from "../logs/log-viewer.tsx";
import { useFavicon } from "../look/favicon.ts";
import { Screen, Tabs } from "../look/screen.tsx";
import { LoadError, Loading, Read } from "../look/states.tsx";
import { Status, toneOf, wordOf } from "../look/status.tsx";
import { ErrorPanel } from "./error-panel.tsx";
import "./job.css";
import { jobPath, jobsPath } from "../paths/job-paths.ts";
import { JobAttemptCards } from "./job-attempts.tsx";
import { JobButtons } from "./job-buttons.tsx";
import { JobDatasets } from "./job-datasets.tsx";
import { JobSettings } from "./job-settings.tsx";
import { JobSummary } from "./job-summary.tsx";
import { JobTimeline } from "./job-timeline.tsx";
import { JobUsagePlots } from "./job-usage.tsx";
import { LastSuccess } from "./last-success.tsx";
import { RecentRuns } from "./recent-runs.tsx";
import { WhyQueued } from "./why-queued.tsx";

export default function JobScreen() {
  const { id = "" } = useParams();
  const found = useApi(routes.listJobs, { query: { job_id: id, include_steps: true } });
  const [job] = found.data ?? [];
  // The answer about another job stays until this one's is there.
  if (job?.id === id.toLowerCase()) return <JobPage key={job.id} job={job} />;
  return (
    <Screen title="Job">
      <Read from={found}>{([other]) => (other ? <Loading /> : <NoJob id={id} />)}</Read>
    </Screen>
  );
}

const NoJob = ({ id }: { id: string }) => (
  <LoadError
    error={new ApiError("not_found", `There is no job ${id} in this team.`)}
    list={{ href: jobsPath(useTeam()), title: "All jobs" }}
  />
);

function JobPage({ job }: { job: Job }) {
  const [tab] = useUrlState("tab", "log");
  useFavicon(toneOf(job.status));
  const part = parts.find(({ name }) => name === tab) ?? parts[0];
  const path = (name: string) => jobPath(job.team, job.id) + (name === "log" ? "" : `?tab=${name}`);
  return (
    <Screen
      title={job.name ?? "Job"}
      tab={`${wordOf(job.status)}: ${job.name ?? job.id}`}
      beside={<Status status={job.status} />}
      actions={<JobButtons job={job} />}
    >
      <JobSummary job={job} />
      <WhyQueued job={job} />
      <ErrorPanel job={job} />
      <JobTimeline job={job} />
      <Tabs
        label="Parts of the job"
        tabs={parts.map(({ name, title }) => ({ href: path(name), title }))}
        current={path(part?.name ?? "log")}
      />
      {part?.show(job)}
    </Screen>
  );
}

interface JobPart {
  readonly name: string;
  readonly title: string;
  readonly show: (job: Job) => ReactNode;
}

const parts: readonly JobPart[] = [
  { name: "log", title: "Log", show: (job) => <LogViewer job={job} /> },
  { name: "script", title: "Script", show: (job) => <Script job={job} /> },
  { name: "settings", title: "Settings", show: (job) => <JobSettings job={job} /> },
  { name: "datasets", title: "Datasets", show: (job) => <JobDatasets id={job.id} /> },
  { name: "resources", title: "Resources", show: (job) => <JobUsagePlots job={job} /> },
  { name: "attempts", title: "Attempts", show: (job) => <JobAttemptCards job={job} /> },
  { name: "runs", title: "Earlier runs", show: (job) => <EarlierRuns job={job} /> },
];

const Script = ({ job }: { job: Job }) =>
  job.query === "" && job.script ? (
    <p>
      The script is <span className="mono">{job.script}</span> of the repository{" "}
      <span className="mono">{job.repository}</span>.
    </p>
  ) : (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a long script is scrolled with the keyboard
    <pre className="code" tabIndex={0}>
      {job.query}
    </pre>
  );

const EarlierRuns = ({ job }: { job: Job }) => (
  <div className="stack">
    {job.name !== null && <RecentRuns name={job.name} />}
    <section className="stack tight">
      <h2>What changed since the last success</h2>
      <LastSuccess job={job} />
    </section>
  </div>
);
