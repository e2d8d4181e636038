/** The last runs of the same pipeline as a grid: a row for each job, a column for each run, the newest at the right. */
import { isUnfinished, type JobPipelineRun, type Pipeline, routes } from "@millrace/contract";
import { Link } from "wouter";
import { useApi } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { useNow } from "../look/clock.ts";
import { Empty, Read } from "../look/states.tsx";
import { StatusShape, toneOf, wordOf } from "../look/status.tsx";
import { duration, exactTime } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import "./run-grid.css";
import { columnsOf, type GridColumn, gridOf, isSame } from "./run-grid.ts";

const most = 20;
const mostRows = 300;

export function RunsView({ pipeline }: { pipeline: Pipeline }) {
  const found = useApi(routes.listPipelines, { query: { limit: 50, search: pipeline.triggered_from } });
  return (
    <Read from={found}>
      {(pipelines) => {
        const same = pipelines.filter((one) => isSame(pipeline, one)).slice(0, most);
        return same.length > 0 ? (
          <Grid pipelines={same.reverse()} current={pipeline} />
        ) : (
          <Empty title="No runs yet">
            <p>Here is a column for each pipeline that this schedule started.</p>
          </Empty>
        );
      }}
    </Read>
  );
}

function Grid({ pipelines, current }: { pipelines: readonly Pipeline[]; current: Pipeline }) {
  const rows = gridOf(pipelines);
  const columns = columnsOf(pipelines, useNow(pipelines.some(({ status }) => isUnfinished(status))));
  const longest = Math.max(1, ...columns.map(({ took = 0 }) => took));
  const what =
    current.schedule_name === null ? `for ${current.triggered_from}` : `of the schedule ${current.schedule_name}`;
  return (
    <div className="stack tight">
      <p className="small soft">
        {pipelines.length === 1
          ? `The only pipeline ${what} so far. The bar shows how long it took.`
          : `The last ${pipelines.length} pipelines ${what}, the newest at the right. The bars show how long each took.`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a table that is wider than the screen is scrolled with the keyboard */}
      <section className="table-frame" aria-label="Last runs" tabIndex={0}>
        <table className="run-grid">
          <thead>
            <tr>
              <th scope="col">Pipeline</th>
              {columns.map((column) => (
                <th
                  key={column.pipeline.pipeline_id}
                  scope="col"
                  className={column.pipeline.pipeline_id === current.pipeline_id ? "here" : ""}
                >
                  <Head column={column} longest={longest} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(0, mostRows).map(({ key, name, cells }) => (
              <tr key={key}>
                <th scope="row">{name}</th>
                {cells.map((run, column) => (
                  <td key={pipelines[column]?.pipeline_id}>{run && <RunCell run={run} />}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {rows.length > mostRows && <p className="small soft">{`${rows.length - mostRows} more jobs are not shown.`}</p>}
    </div>
  );
}

const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

/** The head of a column: a bar of the duration, the date or, on the same day, the time, and the state. */
function Head({ column: { pipeline, took, isNewDay }, longest }: { column: GridColumn; longest: number }) {
  const team = useTeam();
  const { pipeline_id, name, status, created_at } = pipeline;
  const words = took === undefined ? "" : `, took ${duration(took)}`;
  return (
    <>
      <span className="took" aria-hidden="true">
        <span className={toneOf(status)} style={{ height: `${(100 * (took ?? 0)) / longest}%` }} />
      </span>
      <span className="when" aria-hidden="true">
        {(isNewDay ? day : clock).format(Date.parse(created_at))}
      </span>
      <Cell href={pipelinePath(team, pipeline_id)} status={status} what={`${name}, ${exactTime(created_at)}${words}`} />
    </>
  );
}

function RunCell({ run: { created_job_id, status, name } }: { run: JobPipelineRun }) {
  const team = useTeam();
  return (
    <Cell href={created_job_id === null ? undefined : jobPath(team, created_job_id)} status={status} what={name} />
  );
}

function Cell({ href, status, what }: { href: string | undefined; status: string; what: string }) {
  const words = `${wordOf(status)}: ${what}`;
  const content = (
    <>
      <StatusShape tone={toneOf(status)} />
      <span className="hidden-text">{words}</span>
    </>
  );
  const classes = `cell ${toneOf(status)}`;
  return href === undefined ? (
    <span className={classes}>{content}</span>
  ) : (
    <Link className={classes} href={href} title={words}>
      {content}
    </Link>
  );
}
