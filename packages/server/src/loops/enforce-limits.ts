/** Samples the resource usage of running jobs, and ends jobs that exceed a limit. */
import { overTime } from "../domain/lifecycle/retries.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Engine } from "../engines/engine.ts";
import { attemptOf } from "../execution/attempt-of.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { type WarehouseMeasures, worksWithWarehouse } from "../execution/measure-warehouses.ts";
import { type OpenAttempt, openAttempts } from "../store/queries/jobs/attempts.ts";
import { Signal } from "../turns/signals.ts";
import type { Loop } from "./loop.ts";
import { type LoopCluster, loopName } from "./loop-of-cluster.ts";

export interface LimitsContext extends Pick<ExecutionContext, "store" | "engines" | "clock" | "log" | "serverId"> {
  readonly measures: WarehouseMeasures;
}

/** Returns the loop for the attempts of one cluster. Each cluster has its own, so that a slow one delays no other. */
export function enforceLimits(context: LimitsContext, cluster: LoopCluster): Loop {
  const { store, engines, clock, log, serverId, measures } = context;
  return {
    name: loopName("enforce-limits", cluster),
    signal: new Signal(),
    interval: 1000,
    async runOnce() {
      const open = (await openAttempts(store.db, serverId)).filter(({ cluster_id }) => cluster_id === cluster.id);
      for (const team of new Set(open.filter(worksWithWarehouse).map(({ team_id }) => team_id)))
        measures
          .measureIfDue(team)
          .catch((error) => log.warn({ err: error, team }, "could not measure the size of the team's warehouse"));
      await Promise.all(
        open.map(async (attempt) => {
          const engine = engines.of(attempt.cluster_id);
          const { key } = attemptOf(attempt);
          await engine
            .watch?.(key, attempt.store_bytes)
            .catch((error) => log.warn({ err: error, attempt: key }, "could not sample the resource usage of the job"));
          await endInTime(engine, clock, attempt).catch((error) =>
            log.warn({ err: error, attempt: key }, "could not check the time limit of the job"),
          );
        }),
      );
    },
  };
}

/**
 * Ends the attempt if it is older than its time limit. The limit is read from the store and the age from the engine, so
 * neither a restart of the server nor a change of the wall clock affects the check.
 */
async function endInTime(engine: Engine, clock: Clock, attempt: OpenAttempt): Promise<void> {
  const { timeout, status } = attempt;
  if (timeout === null || status === "CANCELING") return;
  const { key } = attemptOf(attempt);
  const age = engine.age ? await engine.age(key) : ageBySteps(clock, attempt);
  if (age !== undefined && age > timeout * 1000) await engine.end(attemptOf(attempt), overTime(timeout));
}

/**
 * Returns the age of the attempt in milliseconds, for engines that do not report it. It is the time since the attempt's
 * first step, by the wall clock; undefined if no step is stored yet.
 */
function ageBySteps(clock: Clock, { steps }: OpenAttempt): number | undefined {
  const [first] = JSON.parse(steps ?? "[]") as { readonly started_at: string }[];
  return first && clock.now() - Date.parse(first.started_at);
}
