/** A table of pipelines. */
import type { Pipeline } from "@millrace/contract";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time, Took } from "../look/time.tsx";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { Progress } from "./progress.tsx";
import { datasetsInWords, Trigger } from "./trigger.tsx";

const columnsFor = (team: string): readonly Column<Pipeline>[] => [
  { title: "Status", cell: ({ status }) => <Status status={status} /> },
  {
    title: "Name",
    cell: ({ pipeline_id, name }) => <Link href={pipelinePath(team, pipeline_id)}>{name}</Link>,
  },
  { title: "Jobs complete", cell: (pipeline) => <Progress pipeline={pipeline} /> },
  {
    title: "Datasets",
    wide: true,
    optional: true,
    cell: (pipeline) => <span title={pipeline.datasets.join("\n")}>{datasetsInWords(pipeline)}</span>,
  },
  { title: "Started by", optional: true, cell: (pipeline) => <Trigger pipeline={pipeline} /> },
  { title: "Created", optional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { title: "Took", number: true, cell: (pipeline) => <PipelineTook pipeline={pipeline} /> },
];

export function PipelineTable({ pipelines }: { pipelines: readonly Pipeline[] }) {
  return (
    <Table
      label="Pipelines"
      columns={columnsFor(useTeam())}
      items={pipelines}
      keyOf={({ pipeline_id }) => pipeline_id}
    />
  );
}

/** From the first start of a job: a pipeline may wait for its review for days. */
export function PipelineTook({ pipeline }: { pipeline: Pipeline }) {
  const first = pipeline.job_runs.reduce<string | null>(
    (least, { started_at }) => (started_at !== null && (least === null || started_at < least) ? started_at : least),
    null,
  );
  return <Took from={first} to={pipeline.finished_at} />;
}
