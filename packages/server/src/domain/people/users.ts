/** Creates, changes and disables users. Users are never deleted, because jobs and audit entries refer to them. */
import { ApiError, type RouteInput, type routes, type User } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { teamsOfUsers } from "../../store/queries/people/memberships.ts";
import { deleteSessionsOf } from "../../store/queries/people/sessions.ts";
import {
  hasOtherAdministrator,
  insertUser,
  listUsers,
  type UserRow,
  updateUser,
} from "../../store/queries/people/users.ts";
import { type Actor, audit, operator } from "../access/audit.ts";
import type { Caller } from "../access/call.ts";
import type { Edit } from "../access/edit.ts";
import { existingUser } from "../access/existing-user.ts";
import { checkName } from "../access/names.ts";
import { handOverAndLeave } from "../ownership/succession.ts";
import { iso } from "../time/clock.ts";
import { checkTimezone } from "../time/time-zones.ts";
import { hashPassword } from "./passwords.ts";

type NewUser = RouteInput<typeof routes.createUser>["body"];
type UserChanges = RouteInput<typeof routes.updateUser>["body"];
type Person = Pick<NewUser, "first_name" | "last_name" | "email" | "timezone">;

export async function readUsers(db: Db, after = "", limit = 100): Promise<User[]> {
  return describe(db, await listUsers(db, after, limit));
}

export async function readUser(db: Db, username: string): Promise<User> {
  const [user] = await describe(db, [await existingUser(db, username)]);
  return user as User;
}

async function describe(db: Db, rows: readonly UserRow[]): Promise<User[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const teams = await teamsOfUsers(db, ids);
  return rows.map((row) => ({
    username: row.username,
    first_name: row.first_name,
    last_name: row.last_name,
    email: row.email,
    timezone: row.timezone,
    is_admin: row.is_admin === 1,
    has_password: row.password_hash !== null,
    created_at: row.created_at,
    disabled_at: row.disabled_at,
    service_account: row.service_team_id !== null,
    teams: teams.filter(({ user_id }) => user_id === row.id).map(({ name, role }) => ({ name, role })),
  }));
}

/** Returns the personal fields that the request sets, as columns. An empty e-mail address or time zone becomes null. */
export function personChanges({ first_name, last_name, email, timezone }: Person) {
  return {
    ...(typeof first_name === "string" ? { first_name: first_name.trim() } : {}),
    ...(typeof last_name === "string" ? { last_name: last_name.trim() } : {}),
    ...(typeof email === "string" ? { email: email || null } : {}),
    ...(typeof timezone === "string" ? { timezone: timezone.trim() === "" ? null : checkTimezone(timezone) } : {}),
  };
}

export async function createUser(store: Store, actor: Actor, input: NewUser, now: number): Promise<User> {
  const passwordHash = input.password ? await hashPassword(input.password, input) : null;
  return store.write(async (db) => {
    await addUser({ db, actor, now }, { ...input, passwordHash });
    return readUser(db, input.username);
  });
}

/** A new user, with the password already hashed. */
interface Addition extends Person {
  readonly username: string;
  readonly is_admin?: boolean | null | undefined;
  readonly passwordHash: string | null;
}

/**
 * Creates a user and returns the id. The caller hashes the password before the transaction, because hashing is slow.
 */
export async function addUser({ db, actor, now }: Edit, user: Addition): Promise<number> {
  const username = checkName("username", user.username);
  const id = await insertUser(db, {
    username,
    first_name: "",
    last_name: "",
    ...personChanges(user),
    password_hash: user.passwordHash,
    is_admin: user.is_admin ? 1 : 0,
    created_at: iso(now),
  });
  if (id === undefined)
    throw new ApiError("wrong_state", `There is already a user ${username}. Choose another username.`);
  // At sign-up the new user is the actor, and has an id only now.
  const by = actor.userId === null && actor.username === username ? { ...actor, userId: id } : actor;
  const detail = user.is_admin ? "administrator of the server" : "";
  await audit(db, by, { action: "user.create", target: username, detail }, now);
  return id;
}

/**
 * Changes a user. If `transfer_to` names a user, that user first takes over all tasks, schedules and pipelines of the
 * changed user.
 */
export async function changeUser(
  store: Store,
  caller: Caller,
  input: UserChanges & { readonly username: string },
  now: number,
): Promise<User> {
  const { username } = input;
  const owner = async () => ({ ...(await existingUser(store.db, username)), ...personChanges(input) });
  const passwordHash = input.password ? await hashPassword(input.password, await owner()) : undefined;
  const leaver = async (db: Db) => {
    const row = await existingUser(db, username);
    if (row.service_team_id !== null) refusePerson(row, input);
    return row;
  };
  const requireMayLeave = async (db: Db, row: UserRow) => {
    if (input.is_admin === false || input.disabled === true) await keepAnAdministrator(db, row);
  };
  const leave = async (edit: Edit, row: UserRow) => {
    await changeFields(edit, row, input);
    if (input.disabled !== undefined && input.disabled !== null) await setDisabled(edit, row, input.disabled);
    if (passwordHash) await setPassword(edit, row, passwordHash);
    return readUser(edit.db, username);
  };
  const to = { teamId: undefined, successor: input.transfer_to ?? undefined, force: input.force === true };
  return handOverAndLeave(store, caller, { ...to, leaver, requireMayLeave, leave }, now);
}

/** Throws if the request gives a service account a password or administrator rights. */
function refusePerson({ username }: UserRow, { is_admin, password }: UserChanges): void {
  if (is_admin || password)
    throw new ApiError(
      "wrong_state",
      `${username} is a service account, which cannot have a password or administrator rights. Choose the account of a person.`,
    );
}

/** Throws if the user is the only enabled administrator of the server. */
async function keepAnAdministrator(db: Db, { id, username, is_admin, disabled_at }: UserRow): Promise<void> {
  if (is_admin !== 1 || disabled_at !== null || (await hasOtherAdministrator(db, id))) return;
  throw new ApiError(
    "wrong_state",
    `${username} is the only administrator of the server. Make another user an administrator first.`,
    { hint: "set_administrator" },
  );
}

async function changeFields({ db, actor, now }: Edit, row: UserRow, input: UserChanges): Promise<void> {
  const isAdmin = typeof input.is_admin === "boolean" ? { is_admin: input.is_admin ? 1 : 0 } : {};
  const changes = { ...personChanges(input), ...isAdmin };
  if (Object.keys(changes).length === 0) return;
  await updateUser(db, row.id, changes);
  const detail = Object.entries(changes)
    .map(([name, value]) => `${name}=${value ?? ""}`)
    .join(", ");
  await audit(db, actor, { action: "user.update", target: row.username, detail }, now);
}

/**
 * Disables or enables a user. Disabling deletes the sessions; tokens and the password work again once the user is
 * enabled.
 */
async function setDisabled({ db, actor, now }: Edit, row: UserRow, disabled: boolean): Promise<void> {
  if (disabled === (row.disabled_at !== null)) return;
  await updateUser(db, row.id, { disabled_at: disabled ? iso(now) : null });
  if (disabled) await deleteSessionsOf(db, row.id);
  await audit(db, actor, { action: disabled ? "user.disable" : "user.enable", target: row.username }, now);
}

/**
 * Sets a password and ends the sessions of the user. If `keptSession` is given, the session with this hash, which is
 * the caller's own, goes on.
 */
export async function setPassword(
  { db, actor, now }: Edit,
  { id, username }: UserRow,
  passwordHash: string,
  keptSession?: string,
): Promise<void> {
  await updateUser(db, id, { password_hash: passwordHash });
  await deleteSessionsOf(db, id, keptSession);
  await audit(db, actor, { action: "user.password", target: username }, now);
}

/** Sets the password of a user. Used by admin commands, which open the store directly. */
export async function setAdminPassword(store: Store, username: string, password: string, now: number) {
  const user = await existingUser(store.db, username);
  refusePerson(user, user.service_team_id === null ? {} : { password });
  const passwordHash = await hashPassword(password, user);
  const edit = (db: Db): Edit => ({ db, actor: operator, now });
  await store.write(async (db) => setPassword(edit(db), await existingUser(db, username), passwordHash));
}
