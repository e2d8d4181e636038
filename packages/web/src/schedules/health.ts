/** The health of a schedule or task in a word. One that has not run yet, or is over, is not said to be well. */
import type { PipelineScheduleItem, TaskItem } from "@millrace/contract";

type Facts = Pick<PipelineScheduleItem, "health" | "fired" | "next_run" | "trigger_dataset">;

/** A state that look/status.tsx knows, and the word for it if it is not the usual one. */
interface Health {
  readonly status: string;
  readonly word?: string;
}

export function healthOf({ health, fired, next_run, trigger_dataset }: Facts): Health {
  if (health !== "ok") return { status: health };
  if (fired === 0) return { status: "WAITING", word: "Not run yet" };
  return next_run === null && trigger_dataset === null ? { status: "COMPLETE", word: "Done" } : { status: "ok" };
}

/** Whether nothing is ahead of a schedule: there is nothing to pause. */
export const isOver = ({ is_paused, next_run, trigger_dataset, waiting_since }: PipelineScheduleItem) =>
  !is_paused && next_run === null && trigger_dataset === null && waiting_since === null;

type TaskFacts = Pick<TaskItem, "is_paused" | "last_error" | "fired" | "next_run">;

/** A task is paused, could not create its newest job, or is well. */
export const taskHealthOf = ({ is_paused, last_error, fired, next_run }: TaskFacts) =>
  healthOf({
    health: is_paused ? "paused" : last_error !== null ? "failing" : "ok",
    fired,
    next_run,
    trigger_dataset: null,
  });
