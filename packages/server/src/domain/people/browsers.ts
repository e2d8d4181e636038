/**
 * Known browsers. One that has signed in before has a cookie, which gives no right at all: its tries at a password have a
 * budget of their own, so that nobody who guesses elsewhere can keep its user out.
 */

import type { Db } from "../../store/drivers/store.ts";
import { forgetOldBrowsers, insertBrowser, usersOfBrowser } from "../../store/queries/people/browsers.ts";
import { hashSecret, newSecret } from "../secrets/random-secrets.ts";
import { day, iso } from "../time/clock.ts";

export const browserDays = 365;
/** Of one user. */
const mostBrowsers = 20;

/** Inside the write of a sign-in. Returns the cookie: the one it has, or a new one; never one that we did not give out. */
export async function rememberBrowser(
  db: Db,
  userId: number,
  cookie: string | undefined,
  now: number,
): Promise<string> {
  const isOurs = cookie !== undefined && (await usersOfBrowser(db, hashSecret(cookie), iso(now))).length > 0;
  const kept = isOurs ? cookie : newSecret();
  await insertBrowser(db, hashSecret(kept), userId, iso(now + browserDays * day));
  await forgetOldBrowsers(db, userId, mostBrowsers);
  return kept;
}

export async function isKnownBrowser(
  db: Db,
  username: string,
  cookie: string | undefined,
  now: number,
): Promise<boolean> {
  if (cookie === undefined) return false;
  return (await usersOfBrowser(db, hashSecret(cookie), iso(now))).some((user) => user.username === username);
}
