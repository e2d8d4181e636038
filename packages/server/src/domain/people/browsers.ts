/**
 * Known browsers. A browser that has signed in before has a cookie. The cookie grants no rights; it only gives the
 * browser a password rate limit of its own, so that an attacker elsewhere cannot lock the user out.
 */

import type { Db } from "../../store/drivers/store.ts";
import { forgetOldBrowsers, insertBrowser, usersOfBrowser } from "../../store/queries/people/browsers.ts";
import { hashSecret, newSecret } from "../secrets/random-secrets.ts";
import { day, iso } from "../time/clock.ts";

/** Days after which a known browser is forgotten, unless it signs in again. */
export const browserDays = 365;
/** Maximum number of known browsers of one user. The oldest are forgotten first. */
const mostBrowsers = 20;

/**
 * Remembers the browser of a user who signs in. Call it in the transaction of the sign-in. Returns the cookie to set:
 * the cookie that the browser sent if this server issued it, otherwise a new one.
 */
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

/** Returns whether this user has signed in with the browser that sent the cookie. */
export async function isKnownBrowser(
  db: Db,
  username: string,
  cookie: string | undefined,
  now: number,
): Promise<boolean> {
  if (cookie === undefined) return false;
  return (await usersOfBrowser(db, hashSecret(cookie), iso(now))).some((user) => user.username === username);
}
