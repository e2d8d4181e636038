/** The progress of a pipeline: a bar with a part for each kind of state, and the numbers. */
import type { Pipeline } from "@millrace/contract";
import { toneOf } from "../look/status.tsx";
import "./progress.css";
import { countsInWords, countsOf } from "./progress-counts.ts";

export function Progress({ pipeline, wide = false }: { pipeline: Pipeline; wide?: boolean }) {
  const counts = countsOf(pipeline.job_runs, toneOf);
  const words = countsInWords(counts);
  return (
    <span className={wide ? "progress wide" : "progress"} title={words}>
      <span className="track" aria-hidden="true">
        {counts.map(({ tone, count }) => (
          <span key={tone} className={`part ${tone}`} style={{ flexGrow: count }} />
        ))}
      </span>
      <span className="nowrap number">{`${pipeline.completed.toLocaleString("en")} of ${pipeline.total.toLocaleString("en")}`}</span>
      {wide ? <span className="soft small">{words}</span> : <span className="hidden-text">{`: ${words}`}</span>}
    </span>
  );
}
