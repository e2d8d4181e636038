/** Watches what running jobs use: takes samples, and ends those that go over a limit. */
import { Signal } from "../domain/signals.ts";
import { attemptKey } from "../engines/engine.ts";
import { openAttempts } from "../store/attempts.ts";
import type { JobLoopContext, Loop } from "./loop.ts";
import { type StoreMeasures, worksWithStore } from "./measure-stores.ts";

export interface WatchContext extends Pick<JobLoopContext, "store" | "engine" | "log" | "serverId"> {
  readonly measures: StoreMeasures;
}

export function watchJobs(context: WatchContext): Loop {
  const { store, engine, log, serverId, measures } = context;
  return {
    name: "watch-jobs",
    signal: new Signal(),
    interval: 1000,
    async runOnce() {
      const open = await openAttempts(store.db, serverId);
      for (const team of new Set(open.filter(worksWithStore).map(({ team_id }) => team_id)))
        measures
          .measureIfDue(team)
          .catch((error) => log.warn({ err: error, team }, "the team's store was not measured"));
      await Promise.all(
        open.map(async ({ job_id, attempt, store_bytes }) => {
          const key = attemptKey(job_id, attempt);
          await engine
            .watch(key, store_bytes)
            .catch((error) => log.warn({ err: error, attempt: key }, "the job was not sampled"));
        }),
      );
    },
  };
}
