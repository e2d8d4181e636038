/** Removes virtualenvs that no job has used for long, where an engine keeps some. */
import { type Clock, day } from "../domain/time/clock.ts";
import type { Engines } from "../engines/registry.ts";
import type { Store } from "../store/drivers/store.ts";
import { oldestAttempt } from "../store/queries/jobs/attempts.ts";

export interface EnvironmentsContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly engines: Engines;
  /** Days; 0 keeps for ever. */
  readonly envDays: number;
}

export async function removeOldEnvironments({ store, clock, engines, envDays }: EnvironmentsContext): Promise<void> {
  const keepers = engines.all().flatMap(({ environments }) => environments ?? []);
  for (const keeper of keepers) await keeper.removeRest();
  if (envDays === 0) return;
  // A job that runs may be using whatever was used since it began.
  const oldest = await oldestAttempt(store.db);
  const cutoff = Math.min(clock.now() - envDays * day, oldest ? Date.parse(oldest) : Number.POSITIVE_INFINITY);
  for (const keeper of keepers) await keeper.removeUnused(cutoff);
}
