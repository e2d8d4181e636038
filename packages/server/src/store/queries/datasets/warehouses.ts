/** Queries on the maintenance state of the teams' warehouses. */
import type { Selectable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export type WarehouseRow = Selectable<Tables["team_stores"]>;

/** Records that a job uses the warehouse now. A new warehouse counts as just garbage-collected. */
export const touchWarehouse = (db: Db, teamId: number, now: string) =>
  db
    .insertInto("team_stores")
    .values({ team_id: teamId, used_at: now, tidied_at: now, paused_at: null, backed_up_at: null })
    .onConflict((c) => c.column("team_id").doUpdateSet({ used_at: now }))
    .execute();

/**
 * Lists warehouses that need a daily copy: they have no copy, or were used since their last copy, which is older than
 * `before`. A copy with a time after `future` was made with a wrong clock, so its warehouse is listed too.
 */
export const warehousesToCopy = (db: Db, before: string, future: string): Promise<WarehouseRow[]> =>
  db
    .selectFrom("team_stores")
    .selectAll()
    .where((eb) =>
      eb.or([
        eb("backed_up_at", "is", null),
        eb("backed_up_at", ">", future),
        eb("backed_up_at", "<", before).and("used_at", ">", eb.ref("backed_up_at")),
      ]),
    )
    .execute();

export const allWarehouses = (db: Db): Promise<WarehouseRow[]> => db.selectFrom("team_stores").selectAll().execute();

/**
 * Lists warehouses that were used since their last garbage collection, if that collection was before `before`. A
 * collection with a time after `future` was recorded with a wrong clock, so its warehouse is listed too. Warehouses of
 * paused teams are left out.
 */
export const warehousesToTidy = (db: Db, before: string, future: string): Promise<WarehouseRow[]> =>
  db
    .selectFrom("team_stores")
    .selectAll()
    .where("paused_at", "is", null)
    .where((eb) =>
      eb.or([eb("tidied_at", ">", future), eb("tidied_at", "<", before).and("used_at", ">", eb.ref("tidied_at"))]),
    )
    .execute();

export const updateWarehouse = (db: Db, teamId: number, changes: Partial<Omit<WarehouseRow, "team_id">>) =>
  db.updateTable("team_stores").set(changes).where("team_id", "=", teamId).execute();

/**
 * Makes garbage collection of a team's warehouse due, by setting the time of its last collection back to `last`. If the
 * last collection was before `last`, its time is not changed.
 */
export const makeTidyingDue = (db: Db, teamId: number, now: string, last: string) =>
  db
    .updateTable("team_stores")
    .set((eb) => ({
      used_at: now,
      tidied_at: eb.case().when("tidied_at", ">", last).then(last).else(eb.ref("tidied_at")).end(),
    }))
    .where("team_id", "=", teamId)
    .execute();

/** Makes a daily copy of every warehouse due. Called after a restore: the new data folder has no copies. */
export const forgetCopies = (db: Db) => db.updateTable("team_stores").set({ backed_up_at: null }).execute();

/** Ends the pause of every team; called at start, when the process that paused them is gone. */
export const resumeTeams = (db: Db) => db.updateTable("team_stores").set({ paused_at: null }).execute();

const paused = prepared<object>()((db) =>
  db.selectFrom("team_stores").select("team_id").where("paused_at", "is not", null),
);
/** Returns the teams whose jobs wait for the maintenance of their warehouse. */
export const pausedTeams = async (db: Db): Promise<number[]> =>
  (await paused(db, {})).rows.map(({ team_id }) => team_id);

/** Whether a job of the team is running. */
export const isTeamBusy = async (db: Db, teamId: number): Promise<boolean> =>
  (await db.selectFrom("attempts").select("job_id").where("team_id", "=", teamId).limit(1).executeTakeFirst()) !==
  undefined;
