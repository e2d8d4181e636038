/** The history of a schedule: what it did each time that it was due. */
import { mostFirings, type PipelineSchedule, type ScheduleFiring } from "@millrace/contract";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { Empty } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { duration, Took } from "../look/time.tsx";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { endOf } from "./firing-end.ts";
import { inZone } from "./zoned-time.ts";

export function Firings({ schedule }: { schedule: PipelineSchedule }) {
  const team = useTeam();
  if (schedule.firings.length === 0)
    return (
      <Empty title="Nothing has happened yet">
        <p>Each time that the schedule is due appears here, with what it did.</p>
      </Empty>
    );
  return (
    <>
      <Table
        label="History"
        columns={columnsOf(team, schedule.timezone)}
        items={schedule.firings}
        keyOf={(firing) => `${firing.at} ${firing.tick}`}
      />
      {schedule.firings.length >= mostFirings && <p className="soft">The newest {mostFirings} are kept.</p>}
    </>
  );
}

const columnsOf = (team: string, timezone: string): readonly Column<ScheduleFiring>[] => [
  { title: "Outcome", cell: (firing) => <Status status={endOf(firing)} /> },
  {
    title: `Due (${timezone})`,
    cell: ({ tick, ticks }) => (
      <span className="due-cell">{inZone(tick, timezone) + (ticks > 1 ? ` (${ticks} times)` : "")}</span>
    ),
  },
  {
    title: "Run or reason",
    wide: true,
    cell: (firing) =>
      firing.pipeline_name === null ? (
        <span className="reason">{firing.reason}</span>
      ) : (
        <span className="row">
          <Link href={pipelinePath(team, firing.pipeline_name)}>{firing.pipeline_name}</Link>
          {firing.reason !== null && <span className="soft cut">{firing.reason}</span>}
        </span>
      ),
  },
  {
    title: "Late",
    number: true,
    optional: true,
    cell: ({ late_seconds }) =>
      late_seconds <= 60 ? <span className="soft">on time</span> : duration(late_seconds * 1000),
  },
  {
    title: "Took",
    number: true,
    optional: true,
    cell: ({ pipeline_name, at, finished_at }) => <Took from={pipeline_name === null ? null : at} to={finished_at} />,
  },
];
