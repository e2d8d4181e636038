/** Watches what running jobs use: takes samples, and ends those that go over a limit. */
import { Signal } from "../domain/signals.ts";
import { attemptKey } from "../engines/engine.ts";
import { openAttempts } from "../store/attempts.ts";
import type { JobLoopContext, Loop } from "./loop.ts";

export type WatchContext = Pick<JobLoopContext, "store" | "engine" | "log" | "serverId">;

export function watchJobs({ store, engine, log, serverId }: WatchContext): Loop {
  return {
    name: "watch-jobs",
    signal: new Signal(),
    interval: 1000,
    async runOnce() {
      const open = await openAttempts(store.db, serverId);
      await Promise.all(
        open.map(async ({ job_id, attempt }) => {
          const key = attemptKey(job_id, attempt);
          await engine.watch(key).catch((error) => log.warn({ err: error, attempt: key }, "the job was not sampled"));
        }),
      );
    },
  };
}
