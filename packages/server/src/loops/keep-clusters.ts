/**
 * Keeps an engine for each cluster, as the table of clusters says. Also ends jobs of clusters that were removed: those
 * that wait, for example repeated runs of a schedule, because nobody would ever start them, and those that were running
 * when it was removed with force, because nobody hears of them again.
 */
import { endRemovedAttempts } from "../domain/lifecycle/lost-attempts.ts";
import { attemptKey } from "../engines/engine.ts";
import type { Runners } from "../engines/runners/runners.ts";
import { failRefused } from "../execution/claim.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { formerName } from "../store/queries/jobs/clusters.ts";
import { queuedOnRemoved } from "../store/queries/jobs/queue.ts";
import { Signal } from "../turns/signals.ts";
import type { Loop } from "./loop.ts";

export interface KeepClustersContext extends Pick<ExecutionContext, "store" | "signals" | "clock"> {
  /** Opens the engines of new clusters, and closes those of removed ones. */
  readonly keepEngines: () => Promise<void>;
  readonly runners: Pick<Runners, "abandon">;
}

const page = 100;

export function keepClusters({ store, signals, clock, keepEngines, runners }: KeepClustersContext): Loop {
  return {
    name: "keep-clusters",
    signal: new Signal(),
    interval: 5000,
    async runOnce() {
      await keepEngines();
      for (const { job_id: id, attempt } of await endRemovedAttempts(store, page, clock.now())) {
        await runners.abandon(attemptKey(id, attempt));
        signals.jobChanged(id);
      }
      for (const { job_id: id, name } of await queuedOnRemoved(store.db, page)) {
        const why = `The cluster of the job no longer exists (${formerName(name)}). Create the job again on another cluster.`;
        if (await store.write((db) => failRefused(db, { id, why }, clock.now()))) signals.jobChanged(id);
      }
    },
  };
}
