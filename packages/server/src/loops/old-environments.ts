/** Deletes virtualenvs that no job has used for a configured number of days. */
import { type Clock, day } from "../domain/time/clock.ts";
import type { Engines } from "../engines/registry.ts";
import type { Store } from "../store/drivers/store.ts";
import { oldestAttempt } from "../store/queries/jobs/attempts.ts";

export interface EnvironmentsContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly engines: Engines;
  /** Days without use after which a virtualenv is deleted; 0 keeps it forever. */
  readonly envDays: number;
}

export async function removeOldEnvironments({ store, clock, engines, envDays }: EnvironmentsContext): Promise<void> {
  const keepers = engines.all().flatMap(({ environments }) => environments ?? []);
  for (const keeper of keepers) await keeper.removeRest();
  if (envDays === 0) return;
  // A running job may use any virtualenv that was used since the job started.
  const oldest = await oldestAttempt(store.db);
  const cutoff = Math.min(clock.now() - envDays * day, oldest ? Date.parse(oldest) : Number.POSITIVE_INFINITY);
  for (const keeper of keepers) await keeper.removeUnused(cutoff);
}
