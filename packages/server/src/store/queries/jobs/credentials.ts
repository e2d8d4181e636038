/** Queries on credentials, which are named sets of variables of a team or a user. */
import type { Selectable } from "kysely";
import { prepared } from "../../drivers/prepared.ts";
import type { Db } from "../../drivers/store.ts";
import type { Tables } from "../../schema/tables.ts";

export type CredentialsRow = Selectable<Tables["credentials"]>;

/** Owner of a set of credentials: a team or a user. */
export type CredentialsOwner =
  | { readonly team_id: number; readonly user_id: null }
  | { readonly team_id: null; readonly user_id: number };

const ownedBy = (db: Db, { team_id, user_id }: CredentialsOwner) => {
  const query = db.selectFrom("credentials");
  return team_id === null
    ? query.where("user_id", "=", user_id).where("team_id", "is", null)
    : query.where("team_id", "=", team_id).where("user_id", "is", null);
};

/** Credentials without their values, for lists. */
export type ListedCredentials = Omit<CredentialsRow, "secret">;
const listed = ["id", "team_id", "user_id", "name", "variables", "created_at", "updated_at"] as const;

export const listOwned = (db: Db, owner: CredentialsOwner): Promise<ListedCredentials[]> =>
  ownedBy(db, owner).select(listed).orderBy("name").execute();

/** Returns the names of all sets of an owner. An owner has a limited number of sets. */
export const namesOwned = async (db: Db, owner: CredentialsOwner): Promise<ReadonlySet<string>> =>
  new Set((await ownedBy(db, owner).select("name").execute()).map(({ name }) => name));

export const countOwned = async (db: Db, owner: CredentialsOwner): Promise<number> =>
  Number((await ownedBy(db, owner).select(db.fn.countAll().as("count")).executeTakeFirstOrThrow()).count);

export const findOwned = (db: Db, owner: CredentialsOwner, name: string): Promise<CredentialsRow | undefined> =>
  ownedBy(db, owner).selectAll().where("name", "=", name).executeTakeFirst();

/** Creates an empty set of credentials. Returns false if the name is taken. */
export async function insertCredentials(db: Db, owner: CredentialsOwner, name: string, now: string): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("credentials")
    .values({ ...owner, name, variables: "[]", secret: "", created_at: now, updated_at: now })
    .onConflict((c) => c.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

export const updateCredentials = (
  db: Db,
  id: number,
  changes: Pick<CredentialsRow, "variables" | "secret" | "updated_at">,
) => db.updateTable("credentials").set(changes).where("id", "=", id).execute();

/** Deletes a set of credentials. If it was a team's default, the team has no default afterwards. */
export async function deleteCredentials(db: Db, id: number): Promise<void> {
  await db
    .updateTable("teams")
    .set({ default_credentials_id: null })
    .where("default_credentials_id", "=", id)
    .execute();
  await db.deleteFrom("credentials").where("id", "=", id).execute();
}

const ofTeam = prepared<{ teamId: number }>()((db, value) =>
  db
    .selectFrom("teams")
    .innerJoin("credentials", "credentials.id", "teams.default_credentials_id")
    .select("credentials.name")
    .where("teams.id", "=", value("teamId")),
);
/** Returns the name of the team's default credentials; undefined if it has none. */
export const defaultCredentialsOf = async (db: Db, teamId: number): Promise<string | undefined> =>
  (await ofTeam(db, { teamId })).rows[0]?.name;

export const setDefaultCredentials = (db: Db, teamId: number, credentialsId: number | null) =>
  db.updateTable("teams").set({ default_credentials_id: credentialsId }).where("id", "=", teamId).execute();
