/** Teams beside `main`, created directly in the store, with a client in each. */
import { type Client, createClient } from "@millrace/contract";
import type { InProcessServer } from "./in-process.ts";

interface Quotas {
  readonly max_running?: number | null;
  readonly max_queued?: number | null;
  readonly max_tasks?: number | null;
  readonly max_schedules?: number | null;
}

/** The administrator joins the team. */
export async function addTeam(server: InProcessServer, name: string, quotas: Quotas = {}): Promise<Client> {
  await server.store.write(async (db) => {
    const { id } = await db
      .insertInto("teams")
      .values({ name, created_at: "2030-01-01T00:00:00.000Z", ...quotas })
      .returning("id")
      .executeTakeFirstOrThrow();
    await db.insertInto("memberships").values({ team_id: id, user_id: 1, role: "admin" }).execute();
  });
  return createClient({ url: server.url, token: await server.token({ team: name }), team: name });
}
