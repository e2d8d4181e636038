/** Browser sessions, begun by a one-use link. */
import { ApiError } from "@millrace/contract";
import type { Store } from "../store/store.ts";
import { deleteSession, findUser, insertSession, insertSignInLink, useSignInLink } from "../store/users.ts";
import { day, iso } from "./clock.ts";
import { hashSecret, newSecret } from "./secrets.ts";

const linkHours = 24;
export const sessionDays = 14;

/** The secret part of a new link for this user. */
export async function createSignInLink(store: Store, username: string, now: number): Promise<string> {
  const user = await findUser(store.db, username);
  if (!user) throw new Error(`There is no user ${username}.`);
  const secret = newSecret();
  await store.write((db) => insertSignInLink(db, hashSecret(secret), user.id, iso(now + linkHours * 3_600_000)));
  return secret;
}

/** Uses the link up and returns the cookie of a new session. */
export async function beginSession(store: Store, linkSecret: string, now: number): Promise<string> {
  const cookie = newSecret();
  return store.write(async (db) => {
    const link = await useSignInLink(db, hashSecret(linkSecret), iso(now));
    if (!link) {
      throw new ApiError(
        "unauthorized",
        "This sign-in link was used before or has expired. Make a new one on the server with `millrace admin link`.",
      );
    }
    await insertSession(db, hashSecret(cookie), link.user_id, iso(now), iso(now + sessionDays * day));
    return cookie;
  });
}

export const endSession = (store: Store, cookie: string) => store.write((db) => deleteSession(db, hashSecret(cookie)));
