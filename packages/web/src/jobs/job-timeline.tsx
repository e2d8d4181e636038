/** The phases of a job as a bar, with their durations. */
import { isSettled, type Job } from "@millrace/contract";
import { useNow } from "../look/clock.ts";
import { duration } from "../look/time.tsx";
import { phasesOf, widthsOf } from "./job-phases.ts";
import "./job.css";

export function JobTimeline({ job }: { job: Job }) {
  const now = useNow(!isSettled(job.status));
  const phases = phasesOf(job);
  const widths = widthsOf(phases, now);
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
            <span className="soft">{duration((to ?? now) - from)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
