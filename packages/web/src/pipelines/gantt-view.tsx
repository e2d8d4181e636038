/** The jobs of a pipeline on a line of time; those of the critical path are marked. */
import { isUnfinished, type JobPipelineRun, type Pipeline } from "@millrace/contract";
import { useState } from "react";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { useNow } from "../look/clock.ts";
import { Empty } from "../look/states.tsx";
import { StatusShape, toneOf, wordOf } from "../look/status.tsx";
import { duration } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import { criticalPath, tookOf } from "./critical-path.ts";
import "./gantt.css";
import { type Bar, ganttOf, marksOf } from "./gantt.ts";
import { reasonNotRun } from "./run-reasons.ts";

const step = 200;

export function GanttView({ pipeline }: { pipeline: Pipeline }) {
  const now = useNow(isUnfinished(pipeline.status));
  const [most, setMost] = useState(step);
  const { bars, span, notStarted } = ganttOf(pipeline.job_runs, now);
  if (bars.length === 0)
    return (
      <Empty title="No job has started yet">
        <p>The timeline shows when each job ran, and how long.</p>
      </Empty>
    );
  const rest = bars.length + notStarted.length - most;
  const critical = new Set(criticalPath(pipeline.job_runs, now).map(({ job_id }) => job_id));
  return (
    <div className="stack tight">
      <p className="small soft">
        {`${duration(span)} from the first start to the ${isUnfinished(pipeline.status) ? "present" : "last end"}. Jobs of the critical path, which decided how long it took, are marked with a thick edge.`}
        {bars.some(isLong) && " A pale part before a bar: what the job needs was there, and it waited to start."}
      </p>
      <div className="gantt card">
        <Axis span={span} />
        <ul>
          {bars.slice(0, most).map((bar) => (
            <GanttRow key={bar.run.job_id} bar={bar} now={now} critical={critical.has(bar.run.job_id)} />
          ))}
          {notStarted.slice(0, Math.max(0, most - bars.length)).map((run) => (
            <EmptyRow key={run.job_id} pipeline={pipeline} run={run} />
          ))}
        </ul>
      </div>
      {rest > 0 && (
        <div>
          <Button onClick={() => setMost(most + step)}>{`Show ${Math.min(step, rest)} more jobs`}</Button>
        </div>
      )}
    </div>
  );
}

const Axis = ({ span }: { span: number }) => (
  <div className="axis" aria-hidden="true">
    {marksOf(span).map((at) => (
      <span key={at} style={{ left: `${(at / span) * 100}%` }}>
        {at === 0 ? "0" : duration(at)}
      </span>
    ))}
  </div>
);

/** Shorter waits are the work of starting a job. */
const isLong = ({ waited }: Bar) => waited >= 1000;

function GanttRow({ bar, now, critical }: { bar: Bar; now: number; critical: boolean }) {
  const { run, from, length, wait, waited } = bar;
  const tone = toneOf(run.status);
  const words = isLong(bar) ? `waited ${duration(waited)}` : "";
  return (
    <li>
      <Who run={run} note={`${critical ? ", on the critical path" : ""}${words && `, ${words}`}`} />
      <span className="lane" title={words && `${run.name} ${words}, then ran ${duration(tookOf(run, now))}`}>
        {words !== "" && (
          <span className="bar wait" style={{ left: `${(from - wait) * 100}%`, width: `${wait * 100}%` }} />
        )}
        <span
          className={`bar ${tone} ${critical ? "critical" : ""}`}
          style={{ left: `${from * 100}%`, width: `${length * 100}%` }}
        />
      </span>
      <span className="number soft small nowrap">{duration(tookOf(run, now))}</span>
    </li>
  );
}

/** A job that has not started has no bar; it says why. */
function EmptyRow({ pipeline, run }: { pipeline: Pipeline; run: JobPipelineRun }) {
  const words = reasonNotRun(pipeline, run) ?? `${wordOf(run.status)}.`;
  return (
    <li>
      <Who run={run} />
      <span className="reason small soft">{words}</span>
    </li>
  );
}

function Who({ run, note = "" }: { run: JobPipelineRun; note?: string }) {
  const team = useTeam();
  return (
    <span className="who row">
      <StatusShape tone={toneOf(run.status)} />
      <span className="hidden-text">{`${wordOf(run.status)}${note}: `}</span>
      {run.created_job_id === null ? (
        <span className="cut">{run.name}</span>
      ) : (
        <Link className="cut" href={jobPath(team, run.created_job_id)} title={run.name}>
          {run.name}
        </Link>
      )}
    </span>
  );
}
