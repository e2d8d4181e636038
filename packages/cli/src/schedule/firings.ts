/** Prints the outcome of each firing of a schedule, one per line. */
import type { PipelineScheduleItem, ScheduleFiring } from "@millrace/contract";
import { durationText } from "../job/view.ts";
import type { Style } from "../output.ts";

/** Maximum number of firings that are shown; `--json` prints more. */
const shown = 10;

export const firingsText = (firings: readonly ScheduleFiring[]) => firings.slice(0, shown).map(firingText).join("\n");

function firingText({ tick, ticks, outcome, late_seconds, reason, ...run }: ScheduleFiring): string {
  const what = [
    `${tick} ${[outcome, run.pipeline_name, run.pipeline_status].filter(Boolean).join(" ")}`,
    ticks > 1 ? `${ticks} ticks` : "",
    late_seconds >= 60 && run.pipeline_name ? `${durationText(late_seconds)} late` : "",
  ];
  const line = what.filter(Boolean).join(", ");
  return reason ? `${line}: ${reason}` : line;
}

export const healthText = ({ health, health_reason }: PipelineScheduleItem) =>
  health_reason ? `${health}: ${health_reason}` : health;

export const healthStyle = ({ health }: PipelineScheduleItem): Style =>
  (({ ok: "plain", paused: "dim", skipping: "yellow", overdue: "red", failing: "red" }) as const)[health];
