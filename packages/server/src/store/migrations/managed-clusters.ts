/** Migration: clusters that administrators manage: their options and secrets, their state, and the teams that use them. */
import { type Kysely, sql } from "kysely";
import type { Tables } from "../schema/tables.ts";

export async function managedClusters(db: Kysely<Tables>): Promise<void> {
  const statements = [
    `alter table clusters add column state text not null default 'ACTIVE'`,
    `alter table clusters add column options text not null default '{}'`,
    `alter table clusters add column secrets text not null default ''`,
    `alter table clusters add column is_shared integer not null default 1`,
    `alter table clusters add column shares_unisolated integer not null default 0`,
    `create table cluster_teams (cluster_id integer not null references clusters, team_id integer not null references teams, primary key (cluster_id, team_id))`,
    `alter table teams add column default_cluster_id integer`,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}
