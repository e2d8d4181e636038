/** Says that newer scripts exist than those that the schedule repeats, and takes them. */
import { type PipelineSchedule, routes } from "@millrace/contract";
import { Link } from "wouter";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { Problem } from "../look/states.tsx";
import { Time } from "../look/time.tsx";
import { jobPath } from "../paths/job-paths.ts";

export function NewerScripts({ schedule }: { schedule: PipelineSchedule }) {
  const team = useTeam();
  const refusal = useRefusal("editor");
  const update = useAction(routes.updateSchedule);
  const newer = schedule.newer_scripts ?? [];
  if (newer.length === 0) return null;
  return (
    <section className="card stack tight">
      <h2>Newer scripts</h2>
      <p>The schedule repeats older scripts than these. Its next run would replace their results.</p>
      <ul>
        {newer.map(({ dataset, job_id, name, created_at, created_by }) => (
          <li key={dataset}>
            {dataset}: <Link href={jobPath(team, job_id)}>{name ?? job_id}</Link> by {created_by},{" "}
            <Time at={created_at} />
          </li>
        ))}
      </ul>
      <Problem error={update.error} />
      <div>
        <Button
          icon="again"
          busy={update.isPending}
          refusal={refusal}
          onClick={() => update.mutate({ body: { schedule_id: schedule.id, refresh: true } })}
        >
          Take the newest scripts
        </Button>
      </div>
    </section>
  );
}
