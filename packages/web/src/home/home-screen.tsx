/** The home of a team: whether all is well, what runs, what failed since yesterday, how the schedules did, what is next. */
import { type Job, type Pipeline, type PipelineScheduleItem, routes, type Upcoming } from "@millrace/contract";
import type { ReactNode } from "react";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { JobTable } from "../jobs/job-table.tsx";
import { Screen } from "../look/screen.tsx";
import { LoadError, Loading } from "../look/states.tsx";
import { StatusShape } from "../look/status.tsx";
import { jobsPath } from "../paths/job-paths.ts";
import { schedulesPath } from "../paths/schedule-paths.ts";
import { demoTag } from "./demo.ts";
import { DemoNote, useHasDemo } from "./demo-card.tsx";
import { Failures } from "./failures.tsx";
import { FirstSteps } from "./first-steps.tsx";
import "./home.css";
import { NextRuns } from "./next-runs.tsx";
import { ScheduleResults } from "./schedule-results.tsx";
import { failuresOf, verdictOf, yesterday } from "./verdict.ts";

export default function HomeScreen() {
  const since = yesterday(Date.now());
  const running = useApi(routes.listJobs, { query: { limit: 20, status: ["ACTIVE"] } });
  const created_after = since.toISOString();
  const failed = useApi(routes.listJobs, { query: { limit: 50, status: ["FAILED"], created_after } });
  const newest = useApi(routes.listJobs, { query: { limit: 1 } });
  const pipelines = useApi(routes.listPipelines, { query: { limit: 50 } });
  const schedules = useApi(routes.listSchedules, { query: {} });
  const upcoming = useApi(routes.listUpcoming, { query: { limit: 6 } });
  const hasDemo = useHasDemo();
  const broken = [running, failed, newest, pipelines, schedules, upcoming].find(({ error, data }) => error && !data);
  if (broken) return <Home>{<LoadError error={broken.error} retry={() => void broken.refetch()} />}</Home>;
  if (!(running.data && failed.data && newest.data && pipelines.data && schedules.data && upcoming.data))
    return <Home>{<Loading />}</Home>;
  if (newest.data.length + pipelines.data.length + schedules.data.length === 0) return <Home>{<FirstSteps />}</Home>;
  // Failures of a demo that was removed are nobody's concern.
  const failedJobs = failed.data.filter(({ tags }) => hasDemo || !tags.includes(demoTag));
  return (
    <Home>
      <Night
        {...{ since, failedJobs }}
        running={running.data}
        pipelines={pipelines.data}
        schedules={schedules.data}
        upcoming={upcoming.data}
      />
      {hasDemo && <DemoNote />}
    </Home>
  );
}

const Home = ({ children }: { children: ReactNode }) => <Screen title="Home">{children}</Screen>;

interface NightProps {
  readonly since: Date;
  readonly running: readonly Job[];
  readonly failedJobs: readonly Job[];
  readonly pipelines: readonly Pipeline[];
  readonly schedules: readonly PipelineScheduleItem[];
  readonly upcoming: readonly Upcoming[];
}

function Night({ since, running, upcoming, ...facts }: NightProps) {
  const team = useTeam();
  const { tone, text } = verdictOf(facts, since);
  return (
    <>
      <p className={`verdict ${tone}`} role="status">
        <StatusShape tone={tone} />
        <span>{text}</span>
      </p>
      <div className="home-parts">
        <div className="stack">
          <Part title="Failed today and yesterday" more={[`${jobsPath(team)}?status=FAILED`, "All failed jobs"]}>
            <Failures failures={failuresOf(facts, since)} />
          </Part>
          <Part title="Running and waiting" more={[jobsPath(team), "All jobs"]}>
            {running.length > 0 ? (
              <JobTable jobs={running} label="Running and waiting jobs" />
            ) : (
              <p className="soft">Nothing is running.</p>
            )}
          </Part>
        </div>
        <div className="stack">
          <Part title="Schedules" more={[schedulesPath(team), "All schedules"]}>
            <ScheduleResults schedules={facts.schedules} pipelines={facts.pipelines} />
          </Part>
          <Part title="Next runs" more={[schedulesPath(team, "upcoming"), "All upcoming runs"]}>
            <NextRuns upcoming={upcoming} />
          </Part>
        </div>
      </div>
    </>
  );
}

/** A part of the home, with a link to the screen that shows all of it. */
const Part = ({
  title,
  more: [href, words],
  children,
}: {
  title: string;
  more: readonly [string, string];
  children: ReactNode;
}) => (
  <section className="stack tight">
    <div className="row apart">
      <h2>{title}</h2>
      <Link href={href} className="small nowrap">
        {words}
      </Link>
    </div>
    {children}
  </section>
);
