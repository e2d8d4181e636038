/** The health of a schedule or task in a word. One that has not run yet, or is over, is not said to be well. */
import type { PipelineScheduleItem, TaskItem } from "@millrace/contract";
import { wordOf } from "../look/status.tsx";

type Facts = Pick<PipelineScheduleItem, "health" | "fired" | "next_run" | "trigger_dataset">;

/** Returns the state whose shape is shown, and the word beside it. */
export function healthOf({ health, fired, next_run, trigger_dataset }: Facts): readonly [string, string] {
  if (health !== "ok") return [health, wordOf(health)];
  if (fired === 0) return ["WAITING", "Not run yet"];
  return next_run === null && trigger_dataset === null ? ["COMPLETE", "Done"] : ["ok", wordOf("ok")];
}

type TaskFacts = Pick<TaskItem, "is_paused" | "last_error" | "fired" | "next_run">;

/** A task is paused, could not create its newest job, or is well. */
export const taskHealthOf = ({ is_paused, last_error, fired, next_run }: TaskFacts) =>
  healthOf({
    health: is_paused ? "paused" : last_error !== null ? "failing" : "ok",
    fired,
    next_run,
    trigger_dataset: null,
  });
