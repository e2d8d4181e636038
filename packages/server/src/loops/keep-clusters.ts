/**
 * Keeps an engine for each cluster, as the table of clusters says. Also fails jobs that wait for a cluster that was
 * removed, for example repeated runs of a schedule: nobody would ever start them.
 */
import { failRefused } from "../execution/claim.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { queuedOnRemoved } from "../store/queries/jobs/queue.ts";
import { Signal } from "../turns/signals.ts";
import type { Loop } from "./loop.ts";

export interface KeepClustersContext extends Pick<ExecutionContext, "store" | "signals" | "clock"> {
  /** Opens the engines of new clusters, and closes those of removed ones. */
  readonly keepEngines: () => Promise<void>;
}

const page = 100;

export function keepClusters({ store, signals, clock, keepEngines }: KeepClustersContext): Loop {
  return {
    name: "keep-clusters",
    signal: new Signal(),
    interval: 5000,
    async runOnce() {
      await keepEngines();
      for (const { job_id: id, name } of await queuedOnRemoved(store.db, page)) {
        const why = `The cluster of the job no longer exists (${name}). Create the job again on another cluster.`;
        if (await store.write((db) => failRefused(db, { id, why }, clock.now()))) signals.jobChanged(id);
      }
    },
  };
}
