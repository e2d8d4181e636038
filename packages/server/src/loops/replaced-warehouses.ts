/** Deletes warehouses that were replaced by a restored copy, after a configured number of days. */
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
  /** Days to keep a replaced warehouse; 0 keeps it forever. */
  readonly warehouseReplacedDays: number;
}

export async function removeReplacedWarehouses(context: ReplacedWarehousesContext): Promise<void> {
  const { store, clock, log, warehouses, warehouseReplacedDays } = context;
  if (warehouseReplacedDays === 0) return;
  const before = iso(clock.now() - warehouseReplacedDays * day);
  for (const { team_id: team } of await allWarehouses(store.db)) {
    for (const moment of (await warehouses.replaced(team)).filter((one) => one < before)) {
      await warehouses.forgetReplaced(team, moment);
      log.info({ team, moment }, "deleted a warehouse that a restored copy had replaced");
    }
  }
}
