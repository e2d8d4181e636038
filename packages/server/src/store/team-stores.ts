/** What is known of the stores of teams beside their files. */
import type { Db } from "./store.ts";

export const touchTeamStore = (db: Db, teamId: number, now: string) =>
  db
    .insertInto("team_stores")
    .values({ team_id: teamId, used_at: now, tidied_at: null, paused_at: null, backed_up_at: null })
    .onConflict((c) => c.column("team_id").doUpdateSet({ used_at: now }))
    .execute();
