/** Durations of the recent runs with the same name. */
import { isIn, type Job, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { toneOf, wordOf } from "../look/status.tsx";
import { duration, exactTime } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import { type Bar, Bars } from "../plots/bars.tsx";

/** The bars of runs that have begun, oldest first. With `named`, each bar says the name of its job. */
const barsOf = (jobs: readonly Job[], named = false): Bar[] =>
  jobs
    .filter(({ started_at }) => started_at !== null)
    .map((job) => barOf(job, named ? `${job.name ?? job.id}, ` : ""))
    .toReversed();

function barOf(job: Job, name: string): Bar {
  const began = Date.parse(job.started_at ?? "");
  const value = (job.finished_at === null ? Date.now() : Date.parse(job.finished_at)) - began;
  const label = name + exactTime(began);
  return {
    key: job.id,
    label: `${label} (${wordOf(job.status)})`,
    value,
    tone: toneOf(job.status),
    href: jobPath(job.team, job.id),
    title: `${label}: ${wordOf(job.status)} ${isIn("final", job.status) ? "after" : "for"} ${duration(value)}`,
  };
}

/** Bars of the last thirty runs; nothing if there is only this one. */
export function RecentRuns({ name }: { name: string }) {
  const { data = [] } = useApi(routes.listJobs, { query: { name, limit: 30 } });
  const bars = barsOf(data);
  if (bars.length < 2) return null;
  return (
    <section className="stack tight">
      <h2>Durations of recent runs</h2>
      <Bars label={`Durations of recent runs of ${name}`} titles={["Run", "Took"]} items={bars} format={duration} />
    </section>
  );
}

/** Bars of the newest jobs of a list, at most forty. */
export function ListedRuns({ jobs }: { jobs: readonly Job[] }) {
  const bars = barsOf(jobs.slice(0, 40), true);
  if (bars.length < 2) return null;
  return (
    <Bars
      label="Durations of the newest jobs"
      hint="Durations of the newest jobs"
      titles={["Job", "Took"]}
      items={bars}
      format={duration}
      height={48}
    />
  );
}
