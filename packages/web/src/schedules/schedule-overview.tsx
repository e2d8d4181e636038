/** The overview of a schedule. */
import type { PipelineSchedule } from "@millrace/contract";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { Icon } from "../look/icon.tsx";
import { Status } from "../look/status.tsx";
import { Time, Took } from "../look/time.tsx";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { FiringCalendar } from "./firing-calendar.tsx";
import { FiringDurations } from "./firing-durations.tsx";
import { NewerScripts } from "./newer-scripts.tsx";
import { NextRuns } from "./next-runs.tsx";
import { catchUps, follows, overlaps } from "./policies.ts";
import "./schedules.css";
import { When } from "./when.tsx";

export const ScheduleOverview = ({ schedule }: { schedule: PipelineSchedule }) => (
  <>
    {schedule.health_reason !== null && (
      <p className={`notice row ${schedule.health}`}>
        <Icon name="warning" />
        <span>{schedule.health_reason}</span>
      </p>
    )}
    <NewerScripts schedule={schedule} />
    <div className="two-columns">
      <div className="stack">
        <section className="card stack tight">
          <h2>Next runs</h2>
          <NextRuns runs={schedule.next_runs} timezone={schedule.timezone} />
          {schedule.waiting_since !== null && (
            <p>
              The run that was due <Time at={schedule.waiting_since} /> waits for the last one to end.
            </p>
          )}
          {schedule.trigger_due_at !== null && (
            <p>
              Version {schedule.trigger_version} of {schedule.trigger_dataset} starts a run{" "}
              <Time at={schedule.trigger_due_at} />, unless a newer one arrives.
            </p>
          )}
        </section>
        <FiringCalendar schedule={schedule} />
      </div>
      <div className="stack">
        <section className="card stack tight">
          <h2>About</h2>
          <Facts schedule={schedule} />
        </section>
        <FiringDurations schedule={schedule} />
      </div>
    </div>
  </>
);

function Facts({ schedule }: { schedule: PipelineSchedule }) {
  const { owner, created_by, latest_run: run } = schedule;
  const team = useTeam();
  return (
    <dl className="facts">
      <dt>When</dt>
      <dd>
        <When times={schedule} />
        {schedule.cron_expression !== null && <span className="mono soft"> {schedule.cron_expression}</span>}
      </dd>
      <dt>Last run</dt>
      <dd>
        {run === null ? (
          <span className="soft">None yet</span>
        ) : (
          <span className="row wrap">
            <Status status={run.status} />
            <Link href={pipelinePath(team, run.name)}>{run.name}</Link>
            <Time at={run.created_at} />
            <span className="soft">
              took <Took from={run.created_at} to={run.finished_at} />
            </span>
          </span>
        )}
      </dd>
      <dt>Runs</dt>
      <dd>
        {schedule.fired} started, {schedule.skipped} skipped
      </dd>
      <dt>Rebuilds</dt>
      <dd>{schedule.pipeline.datasets.join(", ")}</dd>
      <dt>Template</dt>
      <dd>
        <Link href={pipelinePath(team, schedule.pipeline.name)}>{schedule.pipeline.name}</Link>
        <span className="soft"> (every run copies it, with its settings)</span>
      </dd>
      <dt>If still running</dt>
      <dd>{overlaps[schedule.overlap][1]}</dd>
      <dt>After an outage</dt>
      <dd>{catchUps[schedule.catch_up][1]}</dd>
      <dt>Scripts</dt>
      <dd>{follows[schedule.follow][1]}</dd>
      <dt>Owner</dt>
      <dd>
        {owner.username}
        {owner.service_account && <span className="soft"> (service account)</span>}
        {created_by.username !== owner.username && <span className="soft">, created by {created_by.username}</span>}
      </dd>
    </dl>
  );
}
