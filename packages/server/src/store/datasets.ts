/** Datasets in the store: namespaces, the projects in them, the datasets in those. */
import type { Selectable } from "kysely";
import { prepared } from "./prepared.ts";
import type { Db } from "./store.ts";
import type { Tables } from "./tables.ts";

export type DatasetRow = Selectable<Tables["datasets"]>;

/** A name in full, in its parts. */
export interface FullName {
  readonly namespace: string;
  readonly project: string;
  readonly name: string;
}

const byName = prepared<FullName & { teamId: number }>()((db, value) =>
  db
    .selectFrom("namespaces")
    .innerJoin("projects", "projects.namespace_id", "namespaces.id")
    .innerJoin("datasets", "datasets.project_id", "projects.id")
    .selectAll("datasets")
    .where("namespaces.team_id", "=", value("teamId"))
    .where("namespaces.name", "=", value("namespace"))
    .where("projects.name", "=", value("project"))
    .where("datasets.name", "=", value("name")),
);
export const findDataset = async (
  db: Db,
  teamId: number,
  { namespace, project, name }: FullName,
): Promise<DatasetRow | undefined> => (await byName(db, { teamId, namespace, project, name })).rows[0];

interface Described {
  readonly uuid: string;
  readonly description: string | null;
  readonly created_at: string;
}

/** Makes what is not there yet. Returns its id. */
export async function ensureNamespace(db: Db, teamId: number, name: string, made: Described): Promise<number> {
  await db
    .insertInto("namespaces")
    .values({ team_id: teamId, name, ...made })
    .onConflict((c) => c.columns(["team_id", "name"]).doNothing())
    .execute();
  const found = db.selectFrom("namespaces").select("id").where("team_id", "=", teamId).where("name", "=", name);
  return (await found.executeTakeFirstOrThrow()).id;
}

export async function ensureProject(db: Db, namespaceId: number, name: string, made: Described): Promise<number> {
  await db
    .insertInto("projects")
    .values({ namespace_id: namespaceId, name, ...made })
    .onConflict((c) => c.columns(["namespace_id", "name"]).doNothing())
    .execute();
  const found = db.selectFrom("projects").select("id").where("namespace_id", "=", namespaceId).where("name", "=", name);
  return (await found.executeTakeFirstOrThrow()).id;
}

/** Makes the dataset, or brings what is said of it up to date. Returns its id. */
export async function putDataset(db: Db, row: Omit<DatasetRow, "id">): Promise<number> {
  const { description, attrs } = row;
  const { id } = await db
    .insertInto("datasets")
    .values(row)
    .onConflict((c) => c.columns(["project_id", "name"]).doUpdateSet({ description, attrs }))
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}
