/**
 * Looks after the stores of teams: a copy every day while jobs go on, and the library's own garbage collection, which
 * must have the store to itself. A team that is never idle is paused for that once in a while: its jobs wait meanwhile.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { type Clock, day, iso } from "../domain/clock.ts";
import type { Signals } from "../domain/signals.ts";
import type { Store } from "../store/store.ts";
import {
  isTeamBusy,
  resumeTeams,
  storesToCopy,
  storesToTidy,
  type TeamStoreRow,
  updateTeamStore,
} from "../store/team-stores.ts";
import type { TeamStores } from "../team-stores/team-stores.ts";
import type { Loop } from "./loop.ts";

export interface KeepStoresContext {
  readonly store: Store;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly log: Logger;
  readonly teamStores: TeamStores;
  /** Copies that are kept; 0 makes none. */
  readonly storeCopies: number;
  /** 0: never. */
  readonly storeTidyHours: number;
  readonly storePauseDays: number;
}

const hour = 3_600_000;
/** A start that was decided before the pause has been written by then, in milliseconds. */
const settling = 2000;

export function keepStores(context: KeepStoresContext): Loop {
  const pausing = new Set<number>();
  let first = true;
  return {
    name: "keep-stores",
    signal: context.signals.stores,
    interval: 60_000,
    async runOnce() {
      if (first) await context.store.write(resumeTeams);
      first = false;
      await copyStores(context);
      await pauseTeams(context, pausing);
      if (pausing.size > 0) await sleep(settling);
      for (const teamId of [...pausing]) if (await tidy(context, teamId)) pausing.delete(teamId);
    },
  };
}

async function copyStores({ store, clock, log, teamStores, storeCopies }: KeepStoresContext): Promise<void> {
  if (storeCopies === 0) return;
  for (const { team_id: team } of await storesToCopy(store.db, iso(clock.now() - day))) {
    const backed_up_at = iso(clock.now());
    try {
      await teamStores.copy(team, backed_up_at, storeCopies);
    } catch (error) {
      // Older copies stay: they may be all that is left. Tried again tomorrow, and told every time.
      log.error({ err: error, team }, "the team's dataset store could not be copied");
    }
    await store.write((db) => updateTeamStore(db, team, { backed_up_at }));
  }
}

/** Those that are idle now, and those that have not been for too long. */
async function pauseTeams(context: KeepStoresContext, pausing: Set<number>): Promise<void> {
  const { store, clock, storeTidyHours } = context;
  if (storeTidyHours === 0) return;
  for (const row of await storesToTidy(store.db, iso(clock.now() - storeTidyHours * hour))) {
    const paused = await store.write(async (db) => {
      if (!isOverdue(context, row) && (await isTeamBusy(db, row.team_id))) return false;
      await updateTeamStore(db, row.team_id, { paused_at: iso(clock.now()) });
      return true;
    });
    if (paused) pausing.add(row.team_id);
  }
}

const isOverdue = ({ clock, storeTidyHours, storePauseDays }: KeepStoresContext, { tidied_at }: TeamStoreRow) =>
  storePauseDays > 0 && clock.now() - Date.parse(tidied_at ?? "") >= storeTidyHours * hour + storePauseDays * day;

/** False: jobs of the team still run. */
async function tidy({ store, signals, clock, log, teamStores }: KeepStoresContext, team: number): Promise<boolean> {
  if (await isTeamBusy(store.db, team)) return false;
  try {
    const said = await teamStores.tidy(team);
    log.info({ team, said }, "the team's dataset store was tidied");
  } catch (error) {
    log.error({ err: error, team }, "the team's dataset store could not be tidied");
  }
  await store.write((db) => updateTeamStore(db, team, { paused_at: null, tidied_at: iso(clock.now()) }));
  signals.dispatch.wake();
  return true;
}
