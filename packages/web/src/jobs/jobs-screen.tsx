/** The list of a team's jobs, newest first. */
import { routes } from "@millrace/contract";
import { useApiPages } from "../api/calls.ts";
import { Button } from "../look/button.tsx";
import { Command } from "../look/copy-button.tsx";
import { Screen } from "../look/screen.tsx";
import { Empty, Read } from "../look/states.tsx";
import { JobTable } from "./job-table.tsx";

export default function JobsScreen() {
  const jobs = useApiPages(routes.listJobs, { query: { limit: 50 } }, (list) => list);
  return (
    <Screen title="Jobs">
      <Read from={jobs}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          if (items.length === 0) return <NoJobs />;
          return (
            <>
              <JobTable jobs={items} />
              {jobs.hasNextPage && (
                <Button busy={jobs.isFetchingNextPage} onClick={() => void jobs.fetchNextPage()}>
                  Show older jobs
                </Button>
              )}
            </>
          );
        }}
      </Read>
    </Screen>
  );
}

const NoJobs = () => (
  <Empty title="No jobs yet">
    <p>Run a script from a terminal:</p>
    <Command text="millrace job run hello.sh" />
  </Empty>
);
