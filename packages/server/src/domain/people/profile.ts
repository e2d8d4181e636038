/** The profile and the password of the caller. */
import { ApiError, allScopes, type RouteInput, type routes, type WhoAmI } from "@millrace/contract";
import type { Db, Store } from "../../store/drivers/store.ts";
import { getUser, type UserRow, updateUser } from "../../store/queries/people/users.ts";
import { audit } from "../access/audit.ts";
import type { Caller } from "../access/call.ts";
import { describeVia, type Principal, refuseServiceAccount } from "../access/principals.ts";
import { hashPassword, verifyPassword } from "./passwords.ts";
import { personChanges, setPassword } from "./users.ts";

type ProfileChanges = RouteInput<typeof routes.updateProfile>["body"];
type PasswordChange = RouteInput<typeof routes.changePassword>["body"];

export async function describePrincipal(db: Db, principal: Principal): Promise<WhoAmI> {
  const row = await ownRow(db, principal);
  return {
    username: row.username,
    first_name: row.first_name,
    last_name: row.last_name,
    email: row.email,
    timezone: row.timezone,
    has_password: row.password_hash !== null,
    is_admin: principal.isAdmin,
    teams: principal.teams.map(({ name, role }) => ({ name, role })),
    scopes: [...principal.scopes],
    token_name: describeVia(principal.via),
    expires_at: principal.via.kind === "token" ? principal.via.expiresAt : null,
  };
}

async function ownRow(db: Db, { userId, username }: Principal): Promise<UserRow> {
  const row = await getUser(db, userId);
  if (!row) throw new ApiError("unauthorized", `The user ${username} no longer exists. Sign in as another user.`);
  return row;
}

export async function changeProfile(
  store: Store,
  { principal, actor }: Caller,
  input: ProfileChanges,
  now: number,
): Promise<WhoAmI> {
  const changes = personChanges(input);
  return store.write(async (db) => {
    if (Object.keys(changes).length > 0) {
      await updateUser(db, principal.userId, changes);
      const detail = Object.keys(changes).join(", ");
      await audit(db, actor, { action: "user.update", target: principal.username, detail }, now);
    }
    return describePrincipal(db, principal);
  });
}

/**
 * Changes the caller's password. The caller must know the current password. A user without a password can set the first
 * one in a browser, or with a token that has all rights of the user.
 */
export async function changePassword(
  store: Store,
  { principal, actor }: Caller,
  { current_password, password }: PasswordChange,
  now: number,
): Promise<void> {
  await refuseServiceAccount(store.db, principal, "have a password");
  const row = await ownRow(store.db, principal);
  if (row.password_hash === null) refuseLimitedToken(principal);
  else if (!(await verifyPassword(current_password ?? "", row.password_hash)))
    throw new ApiError(
      "forbidden",
      "The current password is wrong. If you do not know it, an administrator of the server can set a new one.",
    );
  const passwordHash = await hashPassword(password, row);
  const { via } = principal;
  await store.write(async (db) => {
    const present = await ownRow(db, principal);
    if (present.password_hash !== row.password_hash)
      throw new ApiError(
        "wrong_state",
        "The password was changed at the same time by another request. Try again with the new password.",
      );
    await setPassword({ db, actor, now }, row, passwordHash, via.kind === "session" ? via.hash : undefined);
  });
}

/**
 * Throws if the token is limited to some scopes or teams. With the new password, the token's holder would get more
 * rights than the token has.
 */
function refuseLimitedToken({ via, scopes }: Principal): void {
  const limited = via.kind === "token" && !(via.allTeams && allScopes.every((scope) => scopes.includes(scope)));
  if (limited)
    throw new ApiError(
      "forbidden",
      "A token that is limited to scopes or teams cannot set a first password. Use a token with all your scopes and teams, or sign in with a browser and set the password there.",
    );
}
