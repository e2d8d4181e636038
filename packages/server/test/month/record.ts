/** What became of a month, in words that the model and the store can both say. */

/** A run: for which moment, as whom, by which script, how its attempts went. */
export interface Run {
  readonly moment: string;
  /** Null: it had no job. */
  readonly as: string | null;
  readonly script: string | null;
  readonly attempts: readonly ("failed" | "timed out" | "succeeded")[];
  readonly end: "COMPLETED" | "FAILED" | "RUNNING";
  /** The minute in which its last attempt ended. */
  readonly until: string | null;
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

/** A line for each thing that happened. */
function linesOf({ schedules, tasks, told }: MonthRecord): string[] {
  const ofSchedules = Object.entries(schedules).flatMap(([name, entries]) =>
    entries.map(({ tick, ticks, outcome, why, run }) =>
      [name, tick, `${outcome}${ticks > 1 ? ` for ${ticks} ticks` : ""}`, why, run && runText(run)]
        .filter(Boolean)
        .join(", "),
    ),
  );
  const ofTasks = Object.entries(tasks).flatMap(([name, { runs, skipped, why }]) => [
    ...runs.map((run) => `${name}, ${runText(run)}`),
    `${name} skipped ${skipped}${why ? `: ${why}` : ""}`,
  ]);
  const ofTold = told.map(({ to, event, state, of, moment }) =>
    [`told to ${to}`, event, state, of, moment].filter(Boolean).join(", "),
  );
  return [...ofSchedules, ...ofTasks, ...ofTold];
}

/** What one record has and the other has not, each as often as that. */
export function differences(seen: MonthRecord, expected: MonthRecord) {
  const without = (some: readonly string[], others: readonly string[]) => {
    const left = [...others];
    return some.filter((line) => {
      const index = left.indexOf(line);
      if (index >= 0) left.splice(index, 1);
      return index < 0;
    });
  };
  const [did, should] = [linesOf(seen), linesOf(expected)];
  return { extra: without(did, should), missing: without(should, did) };
}

const runText = ({ moment, as, script, attempts, end, until }: Run) =>
  `a run for ${moment} of ${script} as ${as}: ${[...attempts, end, until].join(", ")}`;
