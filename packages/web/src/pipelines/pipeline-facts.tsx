/** The facts of a pipeline above its graph: progress, datasets, who or what started it, the critical path. */
import type { Pipeline } from "@millrace/contract";
import { Fragment } from "react";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { Time } from "../look/time.tsx";
import { datasetPath } from "../paths/dataset-paths.ts";
import { newBackfillPath, newSchedulePath, schedulePath } from "../paths/schedule-paths.ts";
import { PipelineTook } from "./pipeline-table.tsx";
import { Progress } from "./progress.tsx";

export const PipelineFacts = ({ pipeline }: { pipeline: Pipeline }) => (
  <div className="stack tight">
    <Progress pipeline={pipeline} wide />
    <p className="small soft pipeline-facts">
      <span>
        <DatasetNames datasets={pipeline.datasets} />
      </span>
      <Origin pipeline={pipeline} />
      {pipeline.scheduled_at !== null && (
        <span>
          {"For "}
          <Moment at={pipeline.scheduled_at} zone={pipeline.scheduled_timezone} />
        </span>
      )}
      {pipeline.job_runs.some(({ started_at }) => started_at !== null) && (
        <span>
          {"Took "}
          <PipelineTook pipeline={pipeline} />
        </span>
      )}
      <Onward name={pipeline.name} />
    </p>
  </div>
);

function Origin({ pipeline: { schedule_id, schedule_name, created_at, created_by } }: { pipeline: Pipeline }) {
  const team = useTeam();
  return (
    <span>
      {"Created "}
      <Time at={created_at} />
      {" by "}
      {schedule_id === null ? (
        created_by
      ) : (
        <Link href={schedulePath(team, schedule_id)}>{`the schedule ${schedule_name}`}</Link>
      )}
    </span>
  );
}

const few = 3;

function DatasetNames({ datasets }: { datasets: readonly string[] }) {
  const team = useTeam();
  const rest = datasets.length - few;
  return (
    <span title={datasets.join("\n")}>
      {"Rebuilds "}
      {datasets.slice(0, few).map((name, index) => (
        <Fragment key={name}>
          {index > 0 && ", "}
          <Link href={datasetPath(team, name.replace(/(?<=.)@[^@]*$/, ""))}>{name}</Link>
        </Fragment>
      ))}
      {rest > 0 && ` and ${rest} more`}
    </span>
  );
}

/** What else can be done with a pipeline: run it again and again, or for moments in the past. */
function Onward({ name }: { name: string }) {
  const team = useTeam();
  return (
    <span>
      <Link href={newSchedulePath(team, name)}>Schedule it</Link>
      {" or "}
      <Link href={newBackfillPath(team, name)}>backfill it</Link>
    </span>
  );
}

/** The moment that a schedule fired for, in the zone of the schedule. */
function Moment({ at, zone }: { at: string; zone: string | null }) {
  const format = new Intl.DateTimeFormat(undefined, {
    dateStyle: "medium",
    timeStyle: "short",
    hourCycle: "h23",
    timeZone: zone ?? "UTC",
  });
  return <time dateTime={at}>{`${format.format(Date.parse(at))} ${zone ?? "UTC"}`}</time>;
}
