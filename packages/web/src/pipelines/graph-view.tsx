/** The graph of a pipeline with live states; beside it the selected job, or the one that failed. */
import type { Pipeline } from "@millrace/contract";
import { useMemo } from "react";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { Graph } from "../graph/graph.tsx";
import { duration } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import { tookOf } from "./critical-path.ts";
import { CriticalPath } from "./critical-path-view.tsx";
import "./pipelines.css";
import { RunPanel } from "./run-panel.tsx";

export function GraphView({ pipeline }: { pipeline: Pipeline }) {
  const team = useTeam();
  const [selected, select] = useUrlState("job");
  const { job_runs: runs } = pipeline;
  const nodes = useMemo(
    () =>
      runs.map((run) => ({
        id: run.job_id,
        kind: "job" as const,
        title: run.name,
        status: run.status,
        href: run.created_job_id === null ? undefined : jobPath(team, run.created_job_id),
        detail: run.started_at === null || run.finished_at === null ? undefined : duration(tookOf(run, 0)),
      })),
    [runs, team],
  );
  const edges = useMemo(
    () => runs.flatMap(({ job_id, parent_job_ids }) => parent_job_ids.map((from) => ({ from, to: job_id }))),
    [runs],
  );
  const shown = runs.find(({ job_id }) => job_id === selected) ?? runs.find(({ status }) => status === "FAILED");
  return (
    <div className={shown ? "pipeline-split" : "stack"}>
      <Graph label={`Jobs of ${pipeline.name}`} nodes={nodes} edges={edges} selected={selected} onSelect={select} />
      {shown && <RunPanel key={shown.job_id} pipeline={pipeline} run={shown} />}
      <CriticalPath pipeline={pipeline} onSelect={select} />
    </div>
  );
}
