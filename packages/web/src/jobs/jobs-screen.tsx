/** The list of a team's jobs, newest first. */
import { type Job, routes } from "@millrace/contract";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { useApiPages } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { teamPath, useTeam } from "../api/team.tsx";
import { Button, ButtonLink } from "../look/button.tsx";
import { CopyAs, copyable } from "../look/copy-as.tsx";
import { Command } from "../look/copy-button.tsx";
import { Screen } from "../look/screen.tsx";
import { Empty, Read } from "../look/states.tsx";
import { BulkBar } from "./bulk-bar.tsx";
import { FilterBar } from "./filter-bar.tsx";
import { isFiltered, jobsQuery } from "./job-filters.ts";
import { listCommand } from "./list-command.ts";
import { ListedRuns } from "./recent-runs.tsx";
import { SelectableJobs } from "./selectable-jobs.tsx";
import { useFilters } from "./use-filters.ts";

/** Jobs on a page. */
const pageSize = 50;

export default function JobsScreen() {
  const { filters } = useFilters();
  const jobs = useFilteredJobs();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  return (
    <Screen
      title="Jobs"
      actions={
        <>
          <CopyList />
          <NewJob />
        </>
      }
    >
      <FilterBar />
      <Read from={jobs}>
        {({ pages }) => {
          const items = pages.flatMap((page) => page.items);
          const more = <More jobs={jobs} found={items.length} />;
          if (items.length > 0) return <Found items={items} selected={selected} select={setSelected} more={more} />;
          if (jobs.hasNextPage) return more;
          return isFiltered(filters) ? <NoMatch /> : <NoJobs />;
        }}
      </Read>
    </Screen>
  );
}

/** Reads the jobs that match the filters of the URL. A span such as the last hour ends when the filter was chosen. */
function useFilteredJobs() {
  const { filters } = useFilters();
  const key = JSON.stringify(filters);
  const query = useMemo(() => ({ ...jobsQuery(filters, Date.now()), limit: pageSize }), [key]);
  return useApiPages(routes.listJobs, { query }, (list) => list);
}

interface FoundProps {
  readonly items: readonly Job[];
  readonly selected: ReadonlySet<string>;
  readonly select: (ids: ReadonlySet<string>) => void;
  readonly more: ReactNode;
}

const Found = ({ items, selected, select, more }: FoundProps) => (
  <div className="found-jobs">
    <BulkBar jobs={items.filter(({ id }) => selected.has(id))} onDone={() => select(new Set())} />
    <ListedRuns jobs={items} />
    <SelectableJobs jobs={items} selected={selected} onSelect={select} />
    {more}
  </div>
);

/**
 * The way to older jobs. A request looks at a limited number of jobs, so a rare text may need several: they follow each
 * other until there is something to show.
 */
function More({ jobs, found }: { jobs: ReturnType<typeof useFilteredJobs>; found: number }) {
  const { hasNextPage, isFetchingNextPage, isPlaceholderData, fetchNextPage } = jobs;
  const goesOn = hasNextPage && !isFetchingNextPage && !isPlaceholderData && found === 0;
  useEffect(() => {
    if (goesOn) void fetchNextPage();
  }, [goesOn, fetchNextPage]);
  if (!hasNextPage) return null;
  if (found === 0)
    return (
      <p role="status" className="soft">
        Nothing among the newest jobs. Searching older ones
      </p>
    );
  return (
    <div>
      <Button busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        Show older jobs
      </Button>
    </div>
  );
}

function CopyList() {
  const { filters } = useFilters();
  const query = () => jobsQuery(filters, Date.now());
  const list = copyable(
    "List",
    routes.listJobs,
    () => ({ query: query() }),
    (team) => listCommand(team, query()),
  );
  return <CopyAs actions={[list]} />;
}

function NewJob() {
  const team = useTeam();
  const refusal = useRefusal("editor");
  if (refusal !== undefined)
    return (
      <Button kind="main" icon="plus" refusal={refusal}>
        New job
      </Button>
    );
  return (
    <ButtonLink kind="main" icon="plus" href={teamPath(team, "/editor")}>
      New job
    </ButtonLink>
  );
}

function NoMatch() {
  const { clear } = useFilters();
  return (
    <Empty title="No job matches these filters">
      <p>
        <Button icon="cross" onClick={clear}>
          Clear the filters
        </Button>
      </p>
    </Empty>
  );
}

const NoJobs = () => (
  <Empty title="No jobs yet">
    <p>Write one with “New job”, or run a script of yours, such as hello.sh, from a terminal:</p>
    <Command text="millrace job run hello.sh" />
  </Empty>
);
