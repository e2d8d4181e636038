/**
 * Looks after the stores of teams: a copy every day while jobs go on, and the library's own garbage collection, which
 * must have the store to itself. A team that is never idle is paused for that once in a while: its jobs wait meanwhile.
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
  /** Copies that are kept; 0 makes none. */
  readonly warehouseCopies: number;
  /** 0: never. */
  readonly warehouseTidyHours: number;
  readonly warehousePauseDays: number;
}

interface Measuring {
  readonly measures: WarehouseMeasures;
}

const hour = 3_600_000;

/** Times before the first are long ago; those after the second were written by a clock that was wrong. */
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
  // What is left is for jobs: the copy of yesterday is there.
  if (await disk.isLow(warehouses.length(team))) return;
  const backed_up_at = iso(clock.now());
  try {
    await warehouses.copy(team, backed_up_at, warehouseCopies);
  } catch (error) {
    // Older copies stay: they may be all that is left. Tried again tomorrow, and told every time.
    log.error({ err: error, team }, "the team's warehouse could not be copied");
  }
  await store.write((db) => updateWarehouse(db, team, { backed_up_at }));
}

export function tidyWarehouses(context: KeepWarehousesContext & Measuring): Loop {
  /** Paused, or about to be. */
  const paused = new Map<number, WarehouseRow>();
  const advice = new ClockAdvice(context);
  let first = true;
  /** Decided anew each time: the clock may have been wrong when it was, and the database may not have taken it. */
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
      // One team after another: none waits while another's store is tidied.
      for (const row of await warehousesToTidy(store.db, ...span(clock, warehouseTidyHours * hour))) {
        if (paused.has(row.team_id)) continue;
        // Noted first: whatever fails in between, the team is resumed in the end.
        paused.set(row.team_id, row);
        await goOn(row, false);
      }
    },
  };
}

/** One that is idle now, or has not been for too long. False: it goes on for now. */
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

/** False: jobs of the team still run. */
async function tidy(context: KeepWarehousesContext & Measuring, team: number): Promise<boolean> {
  const { store, signals, clock, log, warehouses, measures } = context;
  if (await isTeamBusy(store.db, team)) return false;
  try {
    const said = await warehouses.tidy(team);
    log.info({ team, said }, "the team's warehouse was tidied");
    await compact(context, team);
  } catch (error) {
    log.error({ err: error, team }, "the team's warehouse could not be tidied");
  }
  await measures.measure(team);
  await store.write((db) => updateWarehouse(db, team, { paused_at: null, tidied_at: iso(clock.now()) }));
  signals.dispatch.wake();
  return true;
}

/** A store that is larger cannot be written anew in the time that its team may stand still for it. */
const mostCompacted = 50 * 1024 ** 3;

/** Gives the space of removed versions back. The store is written anew twice for that: as a copy, and as a log of it. */
async function compact({ log, disk, warehouses }: KeepWarehousesContext, team: number): Promise<void> {
  const bytes = warehouses.length(team);
  if (bytes > mostCompacted || (await disk.isLow(2 * bytes)))
    return log.warn({ team, bytes }, "the space of removed versions is not given back: the store is too large for it");
  try {
    await warehouses.compact(team);
  } catch (error) {
    log.error({ err: error, team }, "the space of removed versions could not be given back");
  }
}
