/** What runs next, schedules and tasks together, by day. */
import { routes, type Upcoming } from "@millrace/contract";
import { Link } from "wouter";
import { useApiPages } from "../api/calls.ts";
import { useTeam } from "../api/team.tsx";
import { useNow } from "../look/clock.ts";
import { Icon } from "../look/icon.tsx";
import { More } from "../look/more.tsx";
import { relativeTime } from "../look/relative-time.ts";
import { Empty, Read } from "../look/states.tsx";
import { Status } from "../look/status.tsx";
import { schedulePath, taskPath } from "../paths/schedule-paths.ts";
import "./upcoming-list.css";
import { whenText } from "./when.tsx";
import { dateInZone, inZone, ownZone } from "./zoned-time.ts";

export function UpcomingList() {
  const upcoming = useApiPages(routes.listUpcoming, { query: { limit: 50 } }, (list) => list);
  return (
    <Read from={upcoming}>
      {({ pages }) => {
        const items = pages.flatMap((page) => page.items);
        if (items.length === 0)
          return (
            <Empty title="Nothing is scheduled">
              <p>Schedules and tasks that are not paused appear here, with their next run.</p>
            </Empty>
          );
        return (
          <>
            <p className="soft">Times are in your time zone, {ownZone}. Each schedule and task is listed once.</p>
            <Timeline items={items} />
            <More of={upcoming}>Show later runs</More>
          </>
        );
      }}
    </Read>
  );
}

const long = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long", timeZone: "UTC" });

const Timeline = ({ items }: { items: readonly Upcoming[] }) => (
  <div className="timeline stack">
    {[...Map.groupBy(items, ({ at }) => dateInZone(at, ownZone))].map(([date, runs]) => (
      <section key={date} className="stack tight">
        <h2>{long.format(Date.parse(date))}</h2>
        <ol>
          {runs.map((run) => (
            <Run key={`${run.kind} ${run.id}`} run={run} />
          ))}
        </ol>
      </section>
    ))}
  </div>
);

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });

function Run({ run }: { run: Upcoming }) {
  const team = useTeam();
  const now = useNow();
  const isLate = Date.parse(run.at) < now - 60_000;
  const href = run.kind === "schedule" ? schedulePath(team, run.id) : taskPath(team, run.id);
  return (
    <li className="row wrap">
      <time dateTime={run.at} className="mono">
        {clock.format(Date.parse(run.at))}
      </time>
      <Icon name={run.kind === "schedule" ? "pipelines" : "jobs"} />
      <Link href={href}>{run.name ?? run.id}</Link>
      <span className="from-now soft">
        {isLate ? <Status status="overdue" /> : relativeTime(Date.parse(run.at), now)}
      </span>
      <span className="soft small">
        {run.kind === "schedule" ? "Schedule" : "Task"}. {whenText({ ...run, start_after: run.at })}
        {run.following !== null && `. Then ${inZone(run.following, ownZone)}`}
      </span>
    </li>
  );
}
