/** Watches what running jobs use: takes samples, and ends those that go over a limit. */
import { overTime } from "../domain/lifecycle/retries.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Engine } from "../engines/engine.ts";
import { attemptOf } from "../execution/attempt-of.ts";
import type { ExecutionContext } from "../execution/execution-context.ts";
import { type WarehouseMeasures, worksWithWarehouse } from "../execution/measure-warehouses.ts";
import { type OpenAttempt, openAttempts } from "../store/queries/jobs/attempts.ts";
import { Signal } from "../turns/signals.ts";
import type { Loop } from "./loop.ts";

export interface LimitsContext extends Pick<ExecutionContext, "store" | "engines" | "clock" | "log" | "serverId"> {
  readonly measures: WarehouseMeasures;
}

export function enforceLimits(context: LimitsContext): Loop {
  const { store, engines, clock, log, serverId, measures } = context;
  return {
    name: "enforce-limits",
    signal: new Signal(),
    interval: 1000,
    async runOnce() {
      const open = await openAttempts(store.db, serverId);
      for (const team of new Set(open.filter(worksWithWarehouse).map(({ team_id }) => team_id)))
        measures
          .measureIfDue(team)
          .catch((error) => log.warn({ err: error, team }, "the team's warehouse was not measured"));
      await Promise.all(
        open.map(async (attempt) => {
          const engine = engines.of(attempt);
          const { key } = attemptOf(attempt);
          await engine
            .watch?.(key, attempt.store_bytes)
            .catch((error) => log.warn({ err: error, attempt: key }, "the job was not sampled"));
          await endInTime(engine, clock, attempt).catch((error) =>
            log.warn({ err: error, attempt: key }, "the job's time was not looked at"),
          );
        }),
      );
    },
  };
}

/** The limit is in the store and the age is the engine's to tell: both hold over a restart, and whatever is set. */
async function endInTime(engine: Engine, clock: Clock, attempt: OpenAttempt): Promise<void> {
  const { timeout, status } = attempt;
  if (timeout === null || status === "CANCELING") return;
  const { key } = attemptOf(attempt);
  const age = engine.age ? await engine.age(key) : ageBySteps(clock, attempt);
  if (age !== undefined && age > timeout * 1000) await engine.end(attemptOf(attempt), overTime(timeout));
}

/** Where the engine cannot tell: by the wall clock, since the first step that the store knows of. */
function ageBySteps(clock: Clock, { steps }: OpenAttempt): number | undefined {
  const [first] = JSON.parse(steps ?? "[]") as { readonly started_at: string }[];
  return first && clock.now() - Date.parse(first.started_at);
}
