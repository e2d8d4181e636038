/** What became of a month, in words that the model and the store can both say. */

/** A run: for which moment, as whom, by which script, how its attempts went. */
export interface Run {
  readonly moment: string;
  /** Null: it had no job. */
  readonly as: string | null;
  readonly script: string | null;
  readonly attempts: readonly ("failed" | "timed out" | "succeeded")[];
  readonly end: "COMPLETED" | "FAILED" | "RUNNING";
}

/** What became of a tick, or of several that one firing stands for. */
export interface Entry {
  readonly tick: string;
  readonly ticks: number;
  readonly outcome: string;
  readonly why: string | null;
  readonly run: Run | null;
}

/** Of a task the runs are known, and how many ticks came to nothing. */
export interface TaskRecord {
  readonly runs: readonly Run[];
  readonly skipped: number;
  /** Why the newest tick came to nothing. */
  readonly why: string | null;
}

/** Something that one listener was told once. */
export interface Told {
  readonly to: string;
  /** Null: only a state of a job. */
  readonly event: string | null;
  readonly state?: "FAILED";
  /** The schedule or task. */
  readonly of: string;
  /** Of a run its moment; of a tick the tick; of what has neither, the minute in which it happened. */
  readonly moment: string;
}

export interface MonthRecord {
  readonly schedules: Readonly<Record<string, readonly Entry[]>>;
  readonly tasks: Readonly<Record<string, TaskRecord>>;
  readonly told: readonly Told[];
}
