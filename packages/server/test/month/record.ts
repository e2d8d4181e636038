/** The result of a month, in a form that both the model and the store can produce. */

/** A run: its moment, its user, its script and its attempts. */
export interface Run {
  readonly moment: string;
  /** Null if it had no job. */
  readonly as: string | null;
  readonly script: string | null;
  readonly attempts: readonly ("failed" | "timed out" | "succeeded")[];
  readonly end: "COMPLETED" | "FAILED" | "RUNNING";
  /** The minute in which its last attempt ended. */
  readonly until: string | null;
}

/** The outcome of a tick, or of several ticks that one firing covers. */
export interface Entry {
  readonly tick: string;
  readonly ticks: number;
  readonly outcome: string;
  readonly why: string | null;
  readonly run: Run | null;
}

/** For a task: its runs, and the number of ticks that did not fire. */
export interface TaskRecord {
  readonly runs: readonly Run[];
  readonly skipped: number;
  /** Why the newest tick did not fire. */
  readonly why: string | null;
}

/** One event that one receiver got once. */
export interface Told {
  readonly to: string;
  /** Null if it was only a job state. */
  readonly event: string | null;
  readonly state?: "FAILED";
  /** The schedule or task. */
  readonly of: string;
  /** For a run its moment, for a tick the tick, otherwise the minute in which it happened. */
  readonly moment: string;
}

export interface MonthRecord {
  readonly schedules: Readonly<Record<string, readonly Entry[]>>;
  readonly tasks: Readonly<Record<string, TaskRecord>>;
  readonly told: readonly Told[];
}

/** One line per event. */
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

/** What one record has and the other lacks, as often as it occurs. */
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
