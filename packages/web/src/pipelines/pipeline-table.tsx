/** A table of pipelines. */
import type { Pipeline } from "@millrace/contract";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { reasonLine } from "../look/reason.ts";
import { Status } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time, Took } from "../look/time.tsx";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { startOf } from "./pipeline-time.ts";
import { Progress } from "./progress.tsx";
import { datasetsInWords, Trigger } from "./trigger.tsx";
import "./pipelines.css";

/** Why pipelines failed has a column only if some did. */
const columnsFor = (team: string, hasFailures: boolean): readonly Column<Pipeline>[] => [
  { title: "Status", cell: ({ status }) => <Status status={status} /> },
  {
    title: "Name",
    cell: ({ pipeline_id, name }) => <Link href={pipelinePath(team, pipeline_id)}>{name}</Link>,
  },
  { title: "Jobs complete", cell: (pipeline) => <Progress pipeline={pipeline} /> },
  {
    title: "Datasets",
    wide: !hasFailures,
    optional: true,
    cell: (pipeline) => (
      <span className={hasFailures ? "datasets-cell cut" : undefined} title={pipeline.datasets.join("\n")}>
        {datasetsInWords(pipeline)}
      </span>
    ),
  },
  ...(hasFailures ? [reasonColumn] : []),
  { title: "Started by", optional: true, cell: (pipeline) => <Trigger pipeline={pipeline} /> },
  { title: "Created", optional: true, cell: ({ created_at }) => <Time at={created_at} /> },
  { title: "Took", number: true, cell: (pipeline) => <PipelineTook pipeline={pipeline} /> },
];

const reasonColumn: Column<Pipeline> = {
  title: "Why it failed",
  wide: true,
  optional: true,
  cell: (pipeline) => <span title={failureOf(pipeline)}>{failureOf(pipeline) ?? <span className="soft">–</span>}</span>,
};

const failureOf = ({ status, error_message }: Pipeline) =>
  status === "FAILED" && error_message !== null ? reasonLine(error_message) : undefined;

export function PipelineTable({ pipelines }: { pipelines: readonly Pipeline[] }) {
  return (
    <Table
      label="Pipelines"
      columns={columnsFor(useTeam(), pipelines.some(failureOf))}
      items={pipelines}
      keyOf={({ pipeline_id }) => pipeline_id}
    />
  );
}

export const PipelineTook = ({ pipeline }: { pipeline: Pipeline }) => (
  <Took from={startOf(pipeline)} to={pipeline.finished_at} />
);
