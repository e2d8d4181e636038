/** Removes warehouses that a copy took the place of, once nobody has wanted them back for long enough. */
import type { Logger } from "pino";
import { type Clock, day, iso } from "../domain/time/clock.ts";
import type { Store } from "../store/drivers/store.ts";
import { allWarehouses } from "../store/queries/datasets/warehouses.ts";
import type { Warehouses } from "../warehouses/warehouses.ts";

export interface ReplacedWarehousesContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Logger;
  readonly warehouses: Warehouses;
  /** 0 keeps them for ever. */
  readonly warehouseReplacedDays: number;
}

export async function removeReplacedWarehouses(context: ReplacedWarehousesContext): Promise<void> {
  const { store, clock, log, warehouses, warehouseReplacedDays } = context;
  if (warehouseReplacedDays === 0) return;
  const before = iso(clock.now() - warehouseReplacedDays * day);
  for (const { team_id: team } of await allWarehouses(store.db)) {
    for (const moment of (await warehouses.replaced(team)).filter((one) => one < before)) {
      await warehouses.forgetReplaced(team, moment);
      log.info({ team, moment }, "a warehouse that a copy took the place of was removed");
    }
  }
}
