/** The schedules of a team: health, times, next run. */
import { type PipelineScheduleItem, routes } from "@millrace/contract";
import { Link } from "wouter";
import { useApiPages } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { Command } from "../look/copy-button.tsx";
import { More } from "../look/more.tsx";
import { Empty, Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time } from "../look/time.tsx";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { schedulePath } from "../paths/schedule-paths.ts";
import { endOf } from "./firing-end.ts";
import { healthOf } from "./health.ts";
import { PauseSchedule } from "./pause-schedule.tsx";
import "./schedules.css";
import { When } from "./when.tsx";

export function ScheduleList() {
  const team = useTeam();
  const schedules = useApiPages(routes.listSchedules, { query: {} }, (list) => list);
  return (
    <Read from={schedules}>
      {({ pages }) => {
        const items = pages.flatMap((page) => page.items);
        if (items.length === 0) return <NoSchedules />;
        return (
          <>
            <Table label="Schedules" columns={columnsOf(team)} items={items} keyOf={({ id }) => id} />
            <More of={schedules}>Show more schedules</More>
          </>
        );
      }}
    </Read>
  );
}

const columnsOf = (team: string): readonly Column<PipelineScheduleItem>[] => [
  { title: "Health", cell: (schedule) => <Health schedule={schedule} /> },
  {
    title: "Name",
    wide: true,
    cell: (schedule) => (
      <Link href={schedulePath(team, schedule.id)} title={schedule.schedule_name}>
        {schedule.schedule_name}
      </Link>
    ),
  },
  { title: "Last run", optional: true, cell: (schedule) => <LastRun team={team} schedule={schedule} /> },
  { title: "When", optional: true, cell: (schedule) => <When times={schedule} className="wrapped when-cell" /> },
  { title: "Next run", cell: ({ next_run }) => <Time at={next_run} /> },
  { title: "Runs", number: true, optional: true, cell: runsInWords },
  { title: "Owner", optional: true, cell: ({ owner }) => owner.username },
  { title: "Action", optional: true, cell: (schedule) => <PauseSchedule schedule={schedule} isSmall /> },
];

/** Skipped runs are named only if there are some: the name of the schedule needs the place. */
function runsInWords({ fired, skipped }: PipelineScheduleItem) {
  return skipped > 0 ? `${fired}, ${skipped} skipped` : fired;
}

/** What the schedule did when it was due last: the state of the run, or why there was none. */
function LastRun({ team, schedule: { last_firing: firing } }: { team: string; schedule: PipelineScheduleItem }) {
  if (firing === null) return <span className="soft">–</span>;
  const state = <Status status={endOf(firing)} />;
  return (
    <span className="row" title={firing.reason ?? undefined}>
      {firing.pipeline_name === null ? state : <Link href={pipelinePath(team, firing.pipeline_name)}>{state}</Link>}
      <Time at={firing.at} />
    </span>
  );
}

/** The health; the reason is its title, and what screen readers say. */
export function Health({ schedule }: { schedule: PipelineScheduleItem }) {
  return (
    <span title={schedule.health_reason ?? undefined}>
      <Status {...healthOf(schedule)} />
      {schedule.health_reason !== null && <span className="hidden-text">{`: ${schedule.health_reason}`}</span>}
    </span>
  );
}

const NoSchedules = () => (
  <Empty title="No schedules yet">
    <p>A schedule runs a pipeline at set times, or when a dataset has a new version. From a terminal:</p>
    <Command text="millrace schedule create nightly PIPELINE --cron '30 2 * * *'" />
  </Empty>
);
