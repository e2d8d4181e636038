/** A calendar of a schedule's outcomes: one square for each day, coloured by the worst that happened. */
import type { PipelineSchedule, ScheduleFiring } from "@millrace/contract";
import { useNow } from "../look/clock.ts";
import { StatusShape, type Tone, toneOf, wordOf } from "../look/status.tsx";
import { type CalendarDay, weeksOf } from "./calendar.ts";
import "./firing-calendar.css";
import { endOf } from "./firing-end.ts";
import { dateInZone } from "./zoned-time.ts";

type Day = CalendarDay<ScheduleFiring>;

const worstFirst: readonly Tone[] = ["bad", "warn", "run", "off", "wait", "good"];

const toneOfDay = ({ items }: Day): Tone | undefined =>
  worstFirst.find((tone) => items.some((firing) => toneOf(endOf(firing)) === tone));

const long = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeZone: "UTC" });

function titleOf({ date, items }: Day): string {
  const counts = Map.groupBy(items, (firing) => wordOf(endOf(firing)).toLowerCase());
  const told = [...counts].map(([word, firings]) => `${firings.length} ${word}`).join(", ");
  return `${long.format(Date.parse(date))}: ${told || "nothing"}`;
}

export function FiringCalendar({ schedule }: { schedule: PipelineSchedule }) {
  const now = useNow(false);
  const { firings, timezone } = schedule;
  if (firings.length === 0) return null;
  const today = dateInZone(new Date(now).toISOString(), timezone);
  const weeks = weeksOf(firings, ({ at }) => dateInZone(at, timezone), today, { least: 8, most: 26 });
  return (
    <section className="card stack tight">
      <h2>Outcomes by day</h2>
      <div className="calendar-frame">
        <div className="calendar-days" aria-hidden="true">
          {["Mon", "", "Wed", "", "Fri", "", "Sun"].map((name, day) => (
            <span key={day}>{name}</span>
          ))}
        </div>
        <div className="calendar-weeks">
          <Dates weeks={weeks} />
          <ul className="calendar" aria-label={`Outcomes by day in ${timezone}`}>
            {weeks.flat().map((day) => (
              <DaySquare key={day.date} day={day} />
            ))}
          </ul>
        </div>
      </div>
      <p className="calendar-legend small soft">
        {(["good", "bad", "warn", "off", "run"] as const).map((tone) => (
          <span key={tone}>
            <StatusShape tone={tone} still />
            {legend[tone]}
          </span>
        ))}
      </p>
    </section>
  );
}

const month = new Intl.DateTimeFormat(undefined, { month: "short", timeZone: "UTC" });

/** Above each week the date of its Monday; above the first week of a month also the month. */
const Dates = ({ weeks }: { weeks: readonly (readonly Day[])[] }) => (
  <div className="calendar-dates" aria-hidden="true">
    {weeks.map(([monday], week) => {
      const date = monday?.date ?? "";
      const isNew = date.slice(0, 7) !== weeks[week - 1]?.[0]?.date.slice(0, 7);
      // The month of the first week would run into that of the second.
      const hasPlace = week > 0 || date.slice(0, 7) === weeks[1]?.[0]?.date.slice(0, 7);
      return (
        <span key={date}>
          <span>{isNew && hasPlace && month.format(Date.parse(date))}</span>
          <span>{Number(date.slice(8))}</span>
        </span>
      );
    })}
  </div>
);

const legend = { good: "Complete", bad: "Failed", warn: "Paused", off: "Skipped, missed or canceled", run: "Running" };

function DaySquare({ day }: { day: Day }) {
  const tone = toneOfDay(day);
  const title = titleOf(day);
  return (
    <li className={`day ${tone ?? "none"}`} title={title}>
      {tone && <StatusShape tone={tone} />}
      <span className="hidden-text">{title}</span>
    </li>
  );
}
