/** How long the last runs of a schedule took. */
import type { PipelineSchedule } from "@millrace/contract";
import { useTeam } from "../api/team.tsx";
import { toneOf, wordOf } from "../look/status.tsx";
import { duration } from "../look/time.tsx";
import { pipelinePath } from "../paths/pipeline-paths.ts";
import { Bars } from "../plots/bars.tsx";
import { endOf } from "./firing-end.ts";
import { inZone } from "./zoned-time.ts";

export function FiringDurations({ schedule: { firings, timezone } }: { schedule: PipelineSchedule }) {
  const team = useTeam();
  const bars = firings.flatMap((firing) => {
    const { pipeline_name: name, finished_at, at, tick } = firing;
    if (name === null || finished_at === null) return [];
    const value = Date.parse(finished_at) - Date.parse(at);
    const label = inZone(tick, timezone);
    const title = `${label}: ${wordOf(endOf(firing)).toLowerCase()}, took ${duration(value)}`;
    return [{ key: name, label, value, tone: toneOf(endOf(firing)), href: pipelinePath(team, name), title }];
  });
  if (bars.length === 0) return null;
  return (
    <section className="card stack tight">
      <h2>Durations of the last runs</h2>
      <Bars label="Durations of the last runs" items={bars.reverse()} format={duration} titles={["Run", "Took"]} />
    </section>
  );
}
