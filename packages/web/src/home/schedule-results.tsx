/** How each schedule did: its health, its last results, and what it skipped. Those in trouble come first. */
import type { Pipeline, PipelineScheduleItem } from "@millrace/contract";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { withoutIds } from "../look/reason.ts";
import { Status, StatusShape, toneOf, wordOf } from "../look/status.tsx";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { newSchedulePath, schedulePath } from "../paths/schedule-paths.ts";
import { When } from "../schedules/when.tsx";

/** Number of schedules that the home shows, and of the last results of each. */
const [shown, results] = [12, 7];
const order = ["overdue", "failing", "skipping", "ok", "paused"];

interface Props {
  readonly schedules: readonly PipelineScheduleItem[];
  readonly pipelines: readonly Pipeline[];
}

export function ScheduleResults({ schedules, pipelines }: Props) {
  const team = useTeam();
  if (schedules.length === 0)
    return (
      <p className="soft">
        No schedules yet. <Link href={newSchedulePath(team)}>Run a pipeline every night</Link>
      </p>
    );
  const sorted = [...schedules].sort((a, b) => order.indexOf(a.health) - order.indexOf(b.health));
  return (
    <ul className="schedule-results card">
      {sorted.slice(0, shown).map((schedule) => (
        <OneSchedule
          key={schedule.id}
          schedule={schedule}
          runs={pipelines.filter(({ schedule_name }) => schedule_name === schedule.schedule_name).slice(0, results)}
        />
      ))}
    </ul>
  );
}

function OneSchedule({ schedule, runs }: { schedule: PipelineScheduleItem; runs: readonly Pipeline[] }) {
  const team = useTeam();
  const { id, schedule_name, health, health_reason, skipped } = schedule;
  return (
    <li className="stack tight">
      <div className="row wrap apart">
        <Link href={schedulePath(team, id)} className="name">
          {schedule_name}
        </Link>
        <Status status={health} />
      </div>
      <div className="row wrap apart small soft">
        <span>
          <When times={schedule} />
          {skipped > 0 && `. ${skipped} skipped`}
        </span>
        <LastRuns runs={runs} />
      </div>
      {health_reason !== null && health !== "paused" && <p className="reason small">{withoutIds(health_reason)}</p>}
    </li>
  );
}

/** The last runs, oldest first, each a link. */
function LastRuns({ runs }: { runs: readonly Pipeline[] }) {
  const team = useTeam();
  if (runs.length === 0) return null;
  return (
    <span className="row last-runs">
      <span>Last runs</span>
      {runs.toReversed().map(({ pipeline_id, name, status }) => (
        <Link
          key={pipeline_id}
          href={pipelinePath(team, pipeline_id)}
          className={toneOf(status)}
          title={`${name}: ${wordOf(status)}`}
        >
          <StatusShape tone={toneOf(status)} />
          <span className="hidden-text">{`${name}: ${wordOf(status)}`}</span>
        </Link>
      ))}
    </span>
  );
}
