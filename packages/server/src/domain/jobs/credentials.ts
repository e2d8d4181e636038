/** Credentials: named sets of variables that belong to a team or a user. A job that names a set gets its variables. */
import { ApiError, type Credentials, type CredentialsInput, credentialLimits, invalid } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import {
  type CredentialsOwner,
  type CredentialsRow,
  countOwned,
  defaultCredentialsOf,
  deleteCredentials,
  findOwned,
  insertCredentials,
  type ListedCredentials,
  listOwned,
  setDefaultCredentials,
  updateCredentials,
} from "../../store/queries/jobs/credentials.ts";
import { teamsOf } from "../../store/queries/people/memberships.ts";
import { lockTeam } from "../../store/queries/people/teams.ts";
import { lockUsers } from "../../store/queries/people/users.ts";
import { type Actor, audit } from "../access/audit.ts";
import type { Principal, Team } from "../access/principals.ts";
import { decryptCredentials, encryptCredentials } from "../secrets/encryption.ts";
import { checkVariables, readEnvironment } from "../secrets/environment-text.ts";
import type { KeyRing } from "../secrets/key-ring.ts";
import { iso } from "../time/clock.ts";
import { tooLong } from "./job-limits.ts";

export interface CredentialsContext {
  readonly store: Store;
  readonly keys: KeyRing;
}

/** Who changes credentials, when, and in which team. */
export interface CredentialsChange {
  readonly team: Team;
  readonly actor: Actor;
  readonly now: number;
}

export const ofTeam = ({ id }: Pick<Team, "id">): CredentialsOwner => ({ team_id: id, user_id: null });
export const ofUser = (userId: number): CredentialsOwner => ({ team_id: null, user_id: userId });

/**
 * Returns the caller as the owner of personal credentials. Throws if the caller's token is limited to some of the
 * caller's teams, because personal credentials can be used in all of them.
 */
export async function ownerOfOwn({ db }: Store, principal: Principal): Promise<CredentialsOwner> {
  const all = await teamsOf(db, principal.userId);
  if (all.length > principal.teams.length) {
    throw new ApiError(
      "forbidden",
      "This token is not valid for all your teams, so it cannot change your own credentials, which your jobs in all teams use. Use a token that is valid for all your teams.",
    );
  }
  return ofUser(principal.userId);
}

/** Lists the credentials that jobs of this user in this team may name: the team's and the user's own. */
export async function listCredentials(context: CredentialsContext, team: Team, userId: number): Promise<Credentials[]> {
  const { db } = context.store;
  const chosen = await defaultCredentialsOf(db, team.id);
  const sets: Credentials[] = [];
  for (const owner of [ofTeam(team), ofUser(userId)])
    for (const row of await listOwned(db, owner)) sets.push(shown(row, chosen, await plainOf(context, owner, row)));
  return sets;
}

/** The stored names of variables: a string if the variable's value is secret, an object if it is not. */
type StoredVariables = readonly (string | { readonly plain: string })[];

/** Returns the names of all variables of a set (`all`), and of those whose values are not secret (`plain`). */
export function namesOf({ variables }: Pick<CredentialsRow, "variables">) {
  const stored = JSON.parse(variables) as StoredVariables;
  return {
    all: stored.map((each) => (typeof each === "string" ? each : each.plain)),
    plain: stored.flatMap((each) => (typeof each === "string" ? [] : [each.plain])),
  };
}

type Values = Readonly<Record<string, string>>;

/**
 * Decrypts the values of a set of credentials. Throws if the server lacks the key, or if the ciphertext was stored for
 * another row.
 */
export const valuesOf = (keys: KeyRing, { id, secret }: Pick<CredentialsRow, "id" | "secret">): Values =>
  JSON.parse(decryptCredentials(keys, id, secret)) as Values;

const pick = (values: Values, names: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, values[name] ?? ""]));

/**
 * Returns the values of a set that are not secret. If the set cannot be decrypted, returns none, so that listing
 * credentials still works. A job that uses the set fails with the reason.
 */
async function plainOf({ store, keys }: CredentialsContext, owner: CredentialsOwner, listed: ListedCredentials) {
  const { plain } = namesOf(listed);
  const row = plain.length > 0 ? await findOwned(store.db, owner, listed.name) : undefined;
  try {
    return row ? pick(valuesOf(keys, row), plain) : {};
  } catch {
    return {};
  }
}

const shown = (row: ListedCredentials, chosen: string | undefined, plain: Record<string, string>): Credentials => ({
  name: row.name,
  owner: row.team_id === null ? "user" : "team",
  variables: namesOf(row).all,
  plain,
  default: row.team_id !== null && row.name === chosen,
  created_at: row.created_at,
  updated_at: row.updated_at,
});

/** Creates a set of credentials, or replaces all values of an existing one. */
export async function setCredentials(
  { store, keys }: CredentialsContext,
  owner: CredentialsOwner,
  input: CredentialsInput,
  change: CredentialsChange,
): Promise<Credentials> {
  const values = readValues(input);
  const variables = Object.keys(values).sort();
  const plain = readPlain(input, values);
  const stored: StoredVariables = variables.map((name) => (Object.hasOwn(plain, name) ? { plain: name } : name));
  const { team, actor, now } = change;
  return store.write(async (db) => {
    // Otherwise two requests at the same moment would both find room for one more set.
    await lockOwner(db, owner);
    const isNew = await insertCredentials(db, owner, input.name, iso(now));
    if (isNew) await checkCount(db, owner);
    const row = await findOwned(db, owner, input.name);
    if (!row)
      throw new ApiError(
        "wrong_state",
        `The credentials ${input.name} were not saved, because they were deleted at the same moment. Try again.`,
      );
    const secret = await encryptCredentials(db, keys, row.id, JSON.stringify(values));
    const changes = { variables: JSON.stringify(stored), secret, updated_at: iso(now) };
    await updateCredentials(db, row.id, changes);
    const action = isNew ? "credentials.create" : "credentials.replace";
    await audit(db, actor, { action, ...auditTarget(owner, team, input.name), detail: variables.join(", ") }, now);
    return shown({ ...row, ...changes }, await defaultCredentialsOf(db, team.id), plain);
  });
}

/** Returns the team and the target of an audit entry. If the credentials belong to a user, the entry has no team. */
const auditTarget = (owner: CredentialsOwner, team: Team, name: string) =>
  owner.team_id === null ? { target: `${name} (own)` } : { team, target: name };

/** Returns the variables of a set, after checking them. Error messages never contain values. */
function readValues({ values = {}, dotenv }: CredentialsInput): Record<string, string> {
  const all = { ...(dotenv ? readEnvironment(dotenv, "dotenv") : {}), ...checkVariables(values, "values") };
  const { variables, bytes } = credentialLimits;
  const count = Object.keys(all).length;
  if (count === 0) throw invalid("values", "at least one variable, in `values` or in `dotenv`");
  if (count > variables) throw invalid("values", `at most ${variables} variables, got ${count}`);
  const size = Object.entries(all).reduce((sum, [name, value]) => sum + Buffer.byteLength(name + value), 0);
  if (size > bytes)
    throw tooLong(
      "values",
      `${bytes} bytes of names and values together`,
      size,
      "Divide the variables into several sets.",
    );
  return all;
}

/**
 * Returns the variables that the request marks as not secret. Their total size is limited, because lists show their
 * values.
 */
function readPlain({ plain }: CredentialsInput, values: Values): Record<string, string> {
  const names = [...new Set(plain ?? [])];
  const unknown = names.find((name) => !Object.hasOwn(values, name));
  if (unknown !== undefined) throw invalid("plain", "names of variables in this set", unknown);
  const size = names.reduce((sum, name) => sum + Buffer.byteLength(name + values[name]), 0);
  const most = credentialLimits.plainBytes;
  if (size > most)
    throw tooLong(
      "plain",
      `${most} bytes of names and values together`,
      size,
      "Leave the variables with long values out of `plain`.",
    );
  return pick(values, names);
}

const lockOwner = (db: Db, { team_id, user_id }: CredentialsOwner): Promise<void> =>
  team_id === null ? lockUsers(db, user_id === null ? [] : [user_id]) : lockTeam(db, team_id);

async function checkCount(db: Db, owner: CredentialsOwner): Promise<void> {
  if ((await countOwned(db, owner)) > credentialLimits.sets) {
    throw new ApiError(
      "wrong_state",
      `No further set of credentials can be created: a team or a user can have at most ${credentialLimits.sets} sets. Delete one first.`,
    );
  }
}

export async function removeCredentials(
  { store }: CredentialsContext,
  owner: CredentialsOwner,
  name: string,
  { team, actor, now }: CredentialsChange,
): Promise<void> {
  await store.write(async (db) => {
    const row = await requireOwned(db, owner, name);
    await deleteCredentials(db, row.id);
    await audit(db, actor, { action: "credentials.delete", ...auditTarget(owner, team, name) }, now);
  });
}

/** Sets the default credentials of a team, for jobs that name no credentials. Null removes the default. */
export async function chooseDefault(
  { store }: CredentialsContext,
  name: string | null,
  { team, actor, now }: CredentialsChange,
): Promise<void> {
  await store.write(async (db) => {
    const row = name === null ? undefined : await requireOwned(db, ofTeam(team), name);
    await setDefaultCredentials(db, team.id, row?.id ?? null);
    await audit(db, actor, { action: "credentials.default", team, target: name ?? "none" }, now);
  });
}

async function requireOwned(db: Db, owner: CredentialsOwner, name: string): Promise<CredentialsRow> {
  const row = await findOwned(db, owner, name);
  if (row) return row;
  const names = (await listOwned(db, owner)).map((other) => other.name).join(", ") || "none";
  const whose = owner.team_id === null ? "You have" : "The team has";
  throw new ApiError("not_found", `${whose} no credentials named ${name}. Existing ones: ${names}.`);
}
