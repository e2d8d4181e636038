/** Removes dataset stores that a copy took the place of, once nobody has wanted them back for long enough. */
import type { Logger } from "pino";
import { type Clock, day, iso } from "../domain/time/clock.ts";
import type { Store } from "../store/drivers/store.ts";
import { allTeamStores } from "../store/queries/datasets/team-stores.ts";
import type { TeamStores } from "../team-stores/team-stores.ts";

export interface ReplacedStoresContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly teamStores: TeamStores;
  /** 0 keeps them for ever. */
  readonly storeReplacedDays: number;
}

export async function removeReplacedStores(context: ReplacedStoresContext): Promise<void> {
  const { store, clock, log, teamStores, storeReplacedDays } = context;
  if (storeReplacedDays === 0) return;
  const before = iso(clock.now() - storeReplacedDays * day);
  for (const { team_id: team } of await allTeamStores(store.db)) {
    for (const moment of (await teamStores.replaced(team)).filter((one) => one < before)) {
      await teamStores.forgetReplaced(team, moment);
      log.info({ team, moment }, "a dataset store that a copy took the place of was removed");
    }
  }
}
