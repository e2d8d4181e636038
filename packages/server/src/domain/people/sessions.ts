/** Browser sessions. A user starts a session with a one-time link or a password. */
import { ApiError } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import {
  deleteSession,
  findSession,
  insertSession,
  insertSignInLink,
  isSignInLink,
  useSignInLink,
} from "../../store/queries/people/sessions.ts";
import { findUser, getUser, type UserRow, updateUser } from "../../store/queries/people/users.ts";
import { type Actor, audit, operator } from "../access/audit.ts";
import type { Principal } from "../access/principals.ts";
import { hashSecret, newSecret } from "../secrets/random-secrets.ts";
import { day, iso } from "../time/clock.ts";
import { rememberBrowser } from "./browsers.ts";
import type { Hasher } from "./password-turns.ts";
import { hashAgain, isOutdated, verifyPassword } from "./passwords.ts";

/** The two cookies that a browser gets at sign-in: the session, and the mark of a known browser. */
export interface Entry {
  readonly session: string;
  readonly browser: string;
}

/** The address and the browser from which a user signs in. */
export interface Entrance {
  readonly address: string;
  /** Cookie of a known browser; undefined if the browser sent none. */
  readonly browser: string | undefined;
}

/** Hours for which a sign-in link is valid. */
const linkHours = 24;
/** Days for which a session is valid. */
export const sessionDays = 14;

/** Creates a sign-in link and returns its secret part. Used by admin commands, which open the store directly. */
export async function createSignInLink(store: Store, username: string, now: number): Promise<string> {
  const user = await findUser(store.db, username);
  if (!user) throw new Error(`There is no user ${username}.`);
  if (user.disabled_at) throw new Error(`The user ${username} is disabled, and cannot sign in. Enable the user first.`);
  if (user.service_team_id !== null)
    throw new Error(`${username} is a service account: nobody signs in as it. Choose the username of a person.`);
  const secret = newSecret();
  await store.write(async (db) => {
    await insertSignInLink(db, hashSecret(secret), user.id, iso(now + linkHours * 3_600_000));
    await audit(db, operator, { action: "link.create", target: username }, now);
  });
  return secret;
}

/**
 * Starts a session with a sign-in link, which works only once. An invalid link causes no write, because strangers may
 * try many links.
 */
export async function beginSession(store: Store, linkSecret: string, entrance: Entrance, now: number): Promise<Entry> {
  const hash = hashSecret(linkSecret);
  if (!(await isSignInLink(store.db, hash, iso(now)))) throw badLink();
  return store.write(async (db) => {
    const link = await useSignInLink(db, hash, iso(now));
    const user = link && (await getUser(db, link.user_id));
    if (!user || user.disabled_at || user.service_team_id !== null) throw badLink();
    return openSession(db, user, { via: "sign-in link", ...entrance }, now);
  });
}

const badLink = () =>
  new ApiError(
    "unauthorized",
    "This sign-in link was used before or has expired. Ask an administrator of the server for a new one.",
    { hint: "create_sign_in_link" },
  );

type Origin = Pick<Actor, "via" | "address">;

/** Creates a session and writes the audit entry. Returns the cookies for the browser. */
export async function openSession(
  db: Db,
  user: Pick<UserRow, "id" | "username">,
  { via, address, browser }: Origin & Entrance,
  now: number,
): Promise<Entry> {
  const session = newSecret();
  await insertSession(db, {
    hash: hashSecret(session),
    user_id: user.id,
    created_at: iso(now),
    expires_at: iso(now + sessionDays * day),
  });
  const actor: Actor = { userId: user.id, username: user.username, via, address };
  await audit(db, actor, { action: "session.create", target: user.username }, now);
  return { session, browser: await rememberBrowser(db, user.id, browser, now) };
}

export interface PasswordSignIn extends Entrance, Hasher {
  readonly username: string;
  readonly password: string;
}

/** Converts a username as a person typed it to the stored form. */
export const normaliseUsername = (text: string) => text.trim().toLowerCase();

/** Starts a session with a password. The error is the same for a wrong password and an unknown user. */
export async function signIn(store: Store, attempt: PasswordSignIn, now: number): Promise<Entry> {
  const origin: Origin = { via: "password", address: attempt.address };
  const user = await findUser(store.db, normaliseUsername(attempt.username));
  const right = await verifyPassword(attempt.password, user?.password_hash, attempt);
  const fresh =
    right && user?.password_hash && isOutdated(user.password_hash) ? await hashAgain(attempt.password) : undefined;
  const entry = await store.write(async (db) => {
    // Reread, because the user may have been disabled or got another password while the slow check ran.
    const present = right && user ? await getUser(db, user.id) : undefined;
    if (present && !present.disabled_at && present.password_hash === user?.password_hash) {
      if (fresh) await updateUser(db, present.id, { password_hash: fresh });
      return openSession(db, present, { ...origin, browser: attempt.browser }, now);
    }
    const username = triedName(attempt.username);
    await audit(db, { userId: null, username, ...origin }, { action: "session.refuse", target: username }, now);
    return undefined;
  });
  if (entry) return entry;
  throw new ApiError("unauthorized", "The username or the password is not right.");
}

/** Returns the name for the audit log. A text that cannot be a username is replaced, because it may be a password. */
const triedName = (text: string) => {
  const name = normaliseUsername(text);
  return /^[a-z0-9][a-z0-9_-]{0,38}$/.test(name) ? name : "(no username)";
};

/** Ends the session through which the caller is signed in. */
export async function endSession(store: Store, { via }: Principal, address: string, now: number): Promise<void> {
  if (via.kind !== "session") return;
  const { hash } = via;
  await store.write(async (db) => {
    const session = await findSession(db, hash, iso(now));
    await deleteSession(db, hash);
    if (!session) return;
    const { user_id: userId, username } = session;
    const actor: Actor = { userId, username, via: "browser session", address };
    await audit(db, actor, { action: "session.end", target: username }, now);
  });
}
