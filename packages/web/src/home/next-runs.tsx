/** The next runs of schedules and tasks. */
import type { Upcoming } from "@millrace/contract";
import { Link } from "wouter";
import { useTeam } from "../api/team.tsx";
import { Time } from "../look/time.tsx";
import { schedulePath, taskPath } from "../paths/schedule-paths.ts";

export function NextRuns({ upcoming }: { upcoming: readonly Upcoming[] }) {
  const team = useTeam();
  if (upcoming.length === 0) return <p className="soft">Nothing is scheduled.</p>;
  return (
    <ul className="next-runs card">
      {upcoming.map(({ kind, id, name, at }) => (
        <li key={`${kind} ${id}`} className="row apart">
          <Link href={kind === "schedule" ? schedulePath(team, id) : taskPath(team, id)} className="cut name">
            {name ?? id}
          </Link>
          <span className="soft nowrap">
            <Time at={at} />
          </span>
        </li>
      ))}
    </ul>
  );
}
