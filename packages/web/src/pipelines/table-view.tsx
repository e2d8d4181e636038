/** The jobs of a pipeline as a list, by state. */
import type { JobPipelineRun, Pipeline } from "@millrace/contract";
import { useState } from "react";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { Button } from "../look/button.tsx";
import { Chips } from "../look/chips.tsx";
import { Empty } from "../look/states.tsx";
import { Status, toneOf, wordOf } from "../look/status.tsx";
import { type Column, Table } from "../look/table.tsx";
import { Time, Took } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import { parentsOf } from "./pipeline-actions.ts";
import { namesOf, reasonFailed, reasonNotRun } from "./run-reasons.ts";
import { Why } from "./why.tsx";

const step = 200;

export function TableView({ pipeline }: { pipeline: Pipeline }) {
  const team = useTeam();
  const [state, setState] = useUrlState("state");
  const [most, setMost] = useState(step);
  const runs = pipeline.job_runs.filter(({ status }) => !state || status === state);
  return (
    <div className="stack">
      <Chips label="Status" options={statesOf(pipeline.job_runs)} value={state} onChoose={setState} />
      {runs.length === 0 ? (
        <Empty title="No job of the pipeline has this status" />
      ) : (
        <Table
          label="Jobs of the pipeline"
          columns={columnsOf(pipeline, team)}
          items={runs.slice(0, most)}
          keyOf={({ job_id }) => job_id}
        />
      )}
      {runs.length > most && (
        <div>
          <Button onClick={() => setMost(most + step)}>{`Show ${Math.min(step, runs.length - most)} more jobs`}</Button>
        </div>
      )}
    </div>
  );
}

function statesOf(runs: readonly JobPipelineRun[]) {
  const counts = new Map<string, number>();
  for (const { status } of runs) counts.set(status, (counts.get(status) ?? 0) + 1);
  return [
    { value: "", title: "All", count: runs.length },
    ...[...counts].map(([value, count]) => ({ value, title: wordOf(value), tone: toneOf(value), count })),
  ];
}

const columnsOf = (pipeline: Pipeline, team: string): readonly Column<JobPipelineRun>[] => [
  { title: "Status", cell: ({ status }) => <Status status={status} /> },
  {
    title: "Job",
    wide: true,
    cell: (run) => (
      <>
        {run.created_job_id === null ? run.name : <Link href={jobPath(team, run.created_job_id)}>{run.name}</Link>}
        <Why reason={reasonFailed(pipeline, run)} />
      </>
    ),
  },
  { title: "Needs", optional: true, cell: (run) => namesOf(parentsOf(pipeline, run)) || "–" },
  {
    title: "Started",
    optional: true,
    cell: (run) => (run.started_at === null ? (reasonNotRun(pipeline, run) ?? "–") : <Time at={run.started_at} />),
  },
  { title: "Took", number: true, cell: (run) => <Took from={run.started_at} to={run.finished_at} /> },
];
