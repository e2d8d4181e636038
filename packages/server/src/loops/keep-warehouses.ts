/**
 * Maintains the warehouses of teams. Copies each warehouse once a day, while jobs continue. Also runs the library's
 * garbage collection, which needs exclusive access to the warehouse. If a team is never idle, the team is paused after
 * a configured number of days: its jobs wait until the collection is done.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { settling } from "../domain/datasets/dataset-copies.ts";
import { type Clock, day, iso } from "../domain/time/clock.ts";
import type { WarehouseMeasures } from "../execution/measure-warehouses.ts";
import type { Disk } from "../machine/disk.ts";
import type { Store } from "../store/drivers/store.ts";
import {
  isTeamBusy,
  resumeTeams,
  updateWarehouse,
  type WarehouseRow,
  warehousesToCopy,
  warehousesToTidy,
} from "../store/queries/datasets/warehouses.ts";
import { Signal, type Signals } from "../turns/signals.ts";
import type { Warehouses } from "../warehouses/warehouses.ts";
import { ClockAdvice } from "./clock-advice.ts";
import type { Loop } from "./loop.ts";

export interface KeepWarehousesContext {
  readonly store: Store;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly log: Logger;
  readonly disk: Disk;
  readonly warehouses: Warehouses;
  /** Number of daily copies to keep of each warehouse; 0 disables copies. */
  readonly warehouseCopies: number;
  /** Hours between two garbage collections; 0 disables them. */
  readonly warehouseTidyHours: number;
  readonly warehousePauseDays: number;
}

interface Measuring {
  readonly measures: WarehouseMeasures;
}

const hour = 3_600_000;

/**
 * Returns the beginning and the end of the times that count as recent. The next copy or garbage collection of a
 * warehouse is due if the previous one was recorded before the beginning. It is also due if the previous one was
 * recorded after the end, because only a wrong clock can have recorded such a time.
 */
const span = (clock: Clock, age: number) => [iso(clock.now() - age), iso(clock.now() + hour)] as const;

export function copyWarehouses(context: KeepWarehousesContext): Loop {
  const advice = new ClockAdvice(context);
  return {
    name: "copy-stores",
    signal: context.signals.stores,
    interval: 60_000,
    async runOnce() {
      const { store, clock, warehouseCopies } = context;
      if (warehouseCopies === 0 || !(await advice.mayAct())) return;
      for (const { team_id } of await warehousesToCopy(store.db, ...span(clock, day))) await copy(context, team_id);
    },
  };
}

async function copy(
  { store, clock, log, disk, warehouses, warehouseCopies }: KeepWarehousesContext,
  team: number,
): Promise<void> {
  // If disk space is low, no copy is made, because the remaining space is reserved for jobs.
  if (await disk.isLow(warehouses.length(team))) return;
  const backed_up_at = iso(clock.now());
  try {
    await warehouses.copy(team, backed_up_at, warehouseCopies);
  } catch (error) {
    // Older copies stay, because they may be all that is left. The copy is tried again tomorrow, and each failure is
    // logged.
    log.error({ err: error, team }, "the daily copy of the team's warehouse failed; it is tried again tomorrow");
  }
  await store.write((db) => updateWarehouse(db, team, { backed_up_at }));
}

export function tidyWarehouses(context: KeepWarehousesContext & Measuring): Loop {
  /** Warehouses of teams that are paused, or are about to be paused, by team id. */
  const paused = new Map<number, WarehouseRow>();
  const advice = new ClockAdvice(context);
  let first = true;
  /**
   * Decides again in each run whether the team is paused. The last decision may have been wrong because of a wrong
   * clock, or the database may have failed to store it.
   */
  const goOn = async (row: WarehouseRow, wasPaused: boolean) => {
    const { team_id: team } = row;
    const isPaused = await pause(context, row);
    if (isPaused) await sleep(settling);
    else if (wasPaused) await resume(context, team);
    if (!isPaused || (await tidy(context, team))) paused.delete(team);
  };
  return {
    name: "tidy-stores",
    signal: new Signal(),
    interval: 60_000,
    async runOnce() {
      const { store, clock, warehouseTidyHours } = context;
      if (first) await store.write(resumeTeams);
      first = false;
      for (const row of paused.values()) await goOn(row, true);
      if (warehouseTidyHours === 0 || !(await advice.mayAct())) return;
      // One team after another, so that a team is paused only for its own collection.
      for (const row of await warehousesToTidy(store.db, ...span(clock, warehouseTidyHours * hour))) {
        if (paused.has(row.team_id)) continue;
        // Recorded first, so that the team is resumed even if a later step fails.
        paused.set(row.team_id, row);
        await goOn(row, false);
      }
    },
  };
}

/** Pauses the team if it is idle, or if its garbage collection is overdue. Returns whether the team is paused now. */
const pause = (context: KeepWarehousesContext, row: WarehouseRow): Promise<boolean> =>
  context.store.write(async (db) => {
    if (!isOverdue(context, row) && (await isTeamBusy(db, row.team_id))) return false;
    await updateWarehouse(db, row.team_id, { paused_at: iso(context.clock.now()) });
    return true;
  });

async function resume({ store, signals }: KeepWarehousesContext, team: number): Promise<void> {
  await store.write((db) => updateWarehouse(db, team, { paused_at: null }));
  signals.dispatch.wake();
}

const isOverdue = (
  { clock, warehouseTidyHours, warehousePauseDays }: KeepWarehousesContext,
  { tidied_at }: WarehouseRow,
) =>
  warehousePauseDays > 0 &&
  clock.now() - Date.parse(tidied_at ?? "") >= warehouseTidyHours * hour + warehousePauseDays * day;

/** Runs the garbage collection. Returns false while jobs of the team still run. */
async function tidy(context: KeepWarehousesContext & Measuring, team: number): Promise<boolean> {
  const { store, signals, clock, log, warehouses, measures } = context;
  if (await isTeamBusy(store.db, team)) return false;
  try {
    const said = await warehouses.tidy(team);
    log.info({ team, said }, "garbage collection of the team's warehouse finished");
    await compact(context, team);
  } catch (error) {
    log.error({ err: error, team }, "garbage collection of the team's warehouse failed");
  }
  await measures.measure(team);
  await store.write((db) => updateWarehouse(db, team, { paused_at: null, tidied_at: iso(clock.now()) }));
  signals.dispatch.wake();
  return true;
}

/** A warehouse with more bytes than this is not compacted, because that would pause its team for too long. */
const mostCompacted = 50 * 1024 ** 3;

/**
 * Frees the disk space of deleted dataset versions. Compacting needs free disk space of twice the size of the
 * warehouse: once for a copy and once for the write-ahead log.
 */
async function compact({ log, disk, warehouses }: KeepWarehousesContext, team: number): Promise<void> {
  const bytes = warehouses.length(team);
  if (bytes > mostCompacted || (await disk.isLow(2 * bytes)))
    return log.warn(
      { team, bytes },
      "the warehouse was not compacted: it is too large, or the disk has too little free space",
    );
  try {
    await warehouses.compact(team);
  } catch (error) {
    log.error({ err: error, team }, "could not compact the team's warehouse");
  }
}
