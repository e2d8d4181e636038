/** The phases of a job as a bar, with their durations. */
import { isSettled, type Job, routes } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { useNow } from "../look/clock.ts";
import { duration } from "../look/time.tsx";
import { phasesOf, widthsOf } from "./job-phases.ts";
import "./job.css";
import { usualPhases } from "./usual-phases.ts";

/** Number of recent runs that say what is usual. */
const recent = 10;

export function JobTimeline({ job }: { job: Job }) {
  const now = useNow(!isSettled(job.status));
  const phases = phasesOf(job);
  const widths = widthsOf(phases, now);
  const usual = useUsual(job);
  return (
    <section className="phases" aria-label="Phases">
      <div className="phase-bar" aria-hidden="true">
        {phases.map(({ name, to }, index) => (
          <span
            key={name}
            className={`phase-${name}${to === undefined ? " going-on" : ""}`}
            style={{ width: `${widths[index]}%` }}
          />
        ))}
      </div>
      <ol className="row wrap small">
        {phases.map(({ name, label, from, to }) => (
          <li key={name} className="row">
            <span className={`phase-dot phase-${name}`} aria-hidden="true" />
            <span>{label}</span>
            <span className="soft">
              {duration((to ?? now) - from)}
              {usual.has(name) && `, usually ${duration(usual.get(name) ?? 0)}`}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

/** What is usual for runs with the same name before this one. */
function useUsual({ name, created_at }: Job): ReadonlyMap<string, number> {
  const query = {
    name: name ?? "",
    status: ["COMPLETE"],
    created_before: created_at,
    limit: recent,
    include_steps: true,
  };
  const { data = [] } = useApi(routes.listJobs, { query }, { enabled: name !== null });
  return usualPhases(data);
}
