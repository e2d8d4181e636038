/** The home of a team: what runs now. */
import { routes } from "@millrace/contract";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { jobsPath } from "../jobs/job-paths.ts";
import { JobTable } from "../jobs/job-table.tsx";
import { Screen } from "../look/screen.tsx";
import { Empty, Read } from "../look/states.tsx";

export default function HomeScreen() {
  const team = useTeam();
  const running = useApi(routes.listJobs, { query: { limit: 20, status: ["ACTIVE"] } });
  return (
    <Screen title="Home">
      <h2>Running and waiting</h2>
      <Read from={running}>
        {(jobs) =>
          jobs.length > 0 ? (
            <JobTable jobs={jobs} label="Running and waiting jobs" />
          ) : (
            <Empty title="Nothing runs now">
              <p>
                See <Link href={jobsPath(team)}>all jobs</Link>.
              </p>
            </Empty>
          )
        }
      </Read>
    </Screen>
  );
}
