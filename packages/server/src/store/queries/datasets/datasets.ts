/** Queries on datasets, and on the projects and namespaces that contain them. */
import { setImmediate as others } from "node:timers/promises";
import { versionStatus } from "@millrace/contract";
import type { Selectable, Updateable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";
import { beginning, ifShort } from "../short-texts.ts";

export type DatasetRow = Selectable<Tables["datasets"]>;

/** A dataset with its project and namespace. */
export interface PlacedDataset extends Omit<DatasetRow, "attrs"> {
  /** JSON array of labels; null if it is too long for a list. */
  readonly attrs: string | null;
  readonly project: Selectable<Tables["projects"]>;
  readonly namespace: Selectable<Tables["namespaces"]>;
}

/** Full name of a dataset in its three parts. */
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

/** Lists the team's datasets with this name that have a complete version, ordered by namespace and project. */
export const placesOfName = (db: Db, teamId: number, name: string, limit: number): Promise<FullName[]> =>
  db
    .selectFrom("datasets")
    .innerJoin("projects", "projects.id", "datasets.project_id")
    .innerJoin("namespaces", "namespaces.id", "projects.namespace_id")
    .select(["namespaces.name as namespace", "projects.name as project", "datasets.name as name"])
    .where("datasets.team_id", "=", teamId)
    .where("datasets.name", "=", name)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom("dataset_versions")
          .select("dataset_versions.id")
          .whereRef("dataset_versions.dataset_id", "=", "datasets.id")
          .where("dataset_versions.status", "=", versionStatus.complete),
      ),
    )
    .orderBy("namespaces.name")
    .orderBy("projects.name")
    .limit(limit)
    .execute();

const placedColumns = [
  "datasets.id",
  "datasets.team_id",
  "datasets.project_id",
  "datasets.uuid",
  "datasets.name",
  "datasets.created_at",
  "projects.uuid as project_uuid",
  "projects.name as project_name",
  "projects.description as project_description",
  "projects.created_at as project_created_at",
  "namespaces.id as namespace_id",
  "namespaces.uuid as namespace_uuid",
  "namespaces.name as namespace_name",
  "namespaces.description as namespace_description",
  "namespaces.created_at as namespace_created_at",
] as const;

const placed = (db: Db) =>
  db
    .selectFrom("datasets")
    .innerJoin("projects", "projects.id", "datasets.project_id")
    .innerJoin("namespaces", "namespaces.id", "projects.namespace_id")
    .select(placedColumns);

type PlacedRow = Awaited<ReturnType<ReturnType<typeof placed>["executeTakeFirstOrThrow"]>> &
  Pick<PlacedDataset, "description" | "attrs">;

const toPlaced = (row: PlacedRow): PlacedDataset => {
  const { id, team_id, project_id, uuid, name, description, attrs, created_at } = row;
  const namespace = {
    id: row.namespace_id,
    team_id,
    uuid: row.namespace_uuid,
    name: row.namespace_name,
    description: row.namespace_description,
    created_at: row.namespace_created_at,
  };
  const project = {
    id: project_id,
    namespace_id: row.namespace_id,
    uuid: row.project_uuid,
    name: row.project_name,
    description: row.project_description,
    created_at: row.project_created_at,
  };
  return { id, team_id, project_id, uuid, name, description, attrs, created_at, project, namespace };
};

/** Returns a dataset's row with project and namespace; undefined if the team has no such dataset. */
export const placeOf = (db: Db, teamId: number, id: number) =>
  placed(db).where("datasets.id", "=", id).where("datasets.team_id", "=", teamId).executeTakeFirst();

/**
 * Lists datasets in the order of their full names, with long texts shortened, starting after the dataset with id
 * `after`. One namespace is read after the other, and one project after the other, each in the order of an index, so
 * that no statement reads or sorts more than it returns. Projects may be empty: `nextLook` is awaited before each batch
 * of them.
 */
export async function listDatasets(
  db: Db,
  teamId: number,
  after: number | undefined,
  limit: number,
  nextLook: () => Promise<void> = others,
): Promise<PlacedDataset[]> {
  const cursor = after === undefined ? undefined : await placeOf(db, teamId, after);
  const found = cursor ? await datasetsOf(db, cursor.project_id, cursor.name, limit) : [];
  if (found.length < limit)
    for await (const projectId of usedProjects(db, teamId, cursor, nextLook)) {
      found.push(...(await datasetsOf(db, projectId, "", limit - found.length)));
      if (found.length === limit) break;
    }
  return found.map(toPlaced);
}

/** Returns the datasets of a project whose names come after this one. */
const datasetsOf = async (db: Db, projectId: number, after: string, limit: number): Promise<PlacedRow[]> =>
  (await datasetsAfter(db, { projectId, after, limit })).rows;

const datasetsAfter = prepared<{ projectId: number; after: string; limit: number }>()((db, value) =>
  placed(db)
    .select([beginning<string | null>("datasets.description").as("description"), ifShort("datasets.attrs").as("attrs")])
    .where("datasets.project_id", "=", value("projectId"))
    .where("datasets.name", ">", value("after"))
    .orderBy("datasets.name")
    .limit(value("limit")),
);

/** Number of namespaces or projects that are looked up at a time. */
const batch = 50;

/** Yields the projects that have datasets, in the order of their full names, starting after one of them. */
async function* usedProjects(
  db: Db,
  teamId: number,
  after: Awaited<ReturnType<typeof placeOf>>,
  nextLook: () => Promise<void>,
): AsyncGenerator<number> {
  if (after) yield* usedProjectsOf(db, after.namespace_id, after.project_name, nextLook);
  for (let name = after?.namespace_name ?? ""; ; ) {
    await nextLook();
    const { rows } = await namespacesAfter(db, { teamId, name });
    for (const { id } of rows) yield* usedProjectsOf(db, id, "", nextLook);
    if (rows.length < batch) return;
    name = rows.at(-1)?.name ?? name;
  }
}

async function* usedProjectsOf(
  db: Db,
  namespaceId: number,
  after: string,
  nextLook: () => Promise<void>,
): AsyncGenerator<number> {
  for (let name = after; ; ) {
    await nextLook();
    const { rows } = await projectsAfter(db, { namespaceId, name });
    for (const { id, first } of rows) if (first !== null) yield id;
    if (rows.length < batch) return;
    name = rows.at(-1)?.name ?? name;
  }
}

const namespacesAfter = prepared<{ teamId: number; name: string }>()((db, value) =>
  db
    .selectFrom("namespaces")
    .select(["id", "name"])
    .where("team_id", "=", value("teamId"))
    .where("name", ">", value("name"))
    .orderBy("name")
    .limit(batch),
);

/** Projects with one of their datasets. As a condition, PostgreSQL would make that a join with all datasets. */
const projectsAfter = prepared<{ namespaceId: number; name: string }>()((db, value) =>
  db
    .selectFrom("projects")
    .select(["id", "name"])
    .select(({ selectFrom }) =>
      selectFrom("datasets")
        .select("datasets.id")
        .whereRef("datasets.project_id", "=", "projects.id")
        .limit(1)
        .as("first"),
    )
    .where("namespace_id", "=", value("namespaceId"))
    .where("name", ">", value("name"))
    .orderBy("name")
    .limit(batch),
);

export async function placedDataset(db: Db, id: number): Promise<PlacedDataset | undefined> {
  const query = placed(db).select(["datasets.description", "datasets.attrs"]).where("datasets.id", "=", id);
  const row = await query.executeTakeFirst();
  return row && toPlaced(row);
}

export const updateDataset = (db: Db, id: number, changes: Updateable<Tables["datasets"]>) =>
  db.updateTable("datasets").set(changes).where("id", "=", id).execute();

interface Described {
  readonly uuid: string;
  readonly description: string | null;
  readonly created_at: string;
}

/** Creates the namespace if it does not exist. Returns its id. */
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

/**
 * Creates the dataset, or updates its description and labels. A dataset with this uuid but another name is renamed,
 * unless the new name is taken. Returns the dataset's id.
 */
export async function putDataset(db: Db, row: Omit<DatasetRow, "id">): Promise<number> {
  const { project_id, uuid, name, description, attrs } = row;
  const named = db.selectFrom("datasets").select("id").where("project_id", "=", project_id).where("name", "=", name);
  const known = db.selectFrom("datasets").select("id").where("team_id", "=", row.team_id).where("uuid", "=", uuid);
  const renamed = (await named.executeTakeFirst()) ? undefined : await known.executeTakeFirst();
  if (renamed) {
    await updateDataset(db, renamed.id, { project_id, name, description, attrs });
    return renamed.id;
  }
  const { id } = await db
    .insertInto("datasets")
    .values(row)
    .onConflict((c) => c.columns(["project_id", "name"]).doUpdateSet({ uuid, description, attrs }))
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}
