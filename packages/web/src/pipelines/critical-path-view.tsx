/** The critical path of a pipeline in a line: what to make faster. */
import { isUnfinished, type Pipeline } from "@millrace/contract";
import { useNow } from "../look/clock.ts";
import { duration } from "../look/time.tsx";
import "../look/chips.css";
import { criticalPath, tookOf } from "./critical-path.ts";

const few = 8;

export function CriticalPath({ pipeline, onSelect }: { pipeline: Pipeline; onSelect: (id: string) => void }) {
  const now = useNow(isUnfinished(pipeline.status));
  const path = criticalPath(pipeline.job_runs, now);
  if (path.length < 2) return null;
  const longest = [...path].sort((a, b) => tookOf(b, now) - tookOf(a, now)).slice(0, few);
  const shown = path.filter((run) => longest.includes(run));
  return (
    <section className="critical-path" aria-label="Critical path">
      <h2 className="small">{`Critical path, ${path.length} of ${pipeline.total} jobs`}</h2>
      <p className="small soft">These jobs decided how long the pipeline took.</p>
      <ol>
        {shown.map((run) => (
          <li key={run.job_id}>
            <button type="button" className="chip" onClick={() => onSelect(run.job_id)}>
              <span className="cut">{run.name}</span>
              <span className="soft nowrap">{duration(tookOf(run, now))}</span>
            </button>
          </li>
        ))}
      </ol>
      {path.length > few && <p className="small soft">{`The ${few} longest are shown.`}</p>}
    </section>
  );
}
