/** Migration: adds receivers of events, the outbox, and deliveries. */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function webhooks(db: Kysely<Tables>, { identity }: { readonly identity: string }): Promise<void> {
  const statements = [
    `create table receivers (id ${identity}, team_id integer not null references teams, kind text not null, address text not null, secret text not null, format text not null, method text not null, verify_tls integer not null, events text not null, job_statuses text not null, wanted text not null, failures integer not null, rests_until text, disabled_at text, disabled_reason text, dropped integer not null, created_at text not null, updated_at text not null)`,
    `create index receivers_by_team on receivers (team_id, kind, id)`,
    `create table outbox (id ${identity}, team_id integer not null references teams, kind text not null, subject text not null, name text, status text not null, message text, at text, created_at text)`,
    `create index outbox_by_team on outbox (team_id, id)`,
    `create table deliveries (id text primary key, team_id integer not null references teams, receiver_id integer not null references receivers, kind text not null, event text not null, title text not null, body text not null, status text not null, attempts integer not null, next_at text, response_status integer, error text, created_at text not null, attempted_at text, finished_at text)`,
    `create index deliveries_by_time on deliveries (team_id, next_at, id) where next_at is not null`,
    `create index deliveries_by_team on deliveries (team_id, id)`,
    `create index deliveries_by_receiver on deliveries (receiver_id, status, id)`,
    `create index deliveries_that_ended on deliveries (finished_at) where finished_at is not null`,
    `create table failing (team_id integer not null references teams, subject text not null, since text not null, primary key (team_id, subject))`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
