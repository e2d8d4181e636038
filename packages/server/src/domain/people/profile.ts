/** One's own profile. */
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
  if (!row) throw new ApiError("unauthorized", `There is no user ${username} any more.`);
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

/** Whoever has a password must know it. The first one can be set by somebody whose token reaches everything they have. */
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
    throw new ApiError("forbidden", "The present password is not right. An administrator can set a new one.");
  const passwordHash = await hashPassword(password, row);
  const { via } = principal;
  await store.write(async (db) => {
    const present = await ownRow(db, principal);
    if (present.password_hash !== row.password_hash)
      throw new ApiError("wrong_state", "The password was changed by somebody else meanwhile. Try again.");
    await setPassword({ db, actor, now }, row, passwordHash, via.kind === "session" ? via.hash : undefined);
  });
}

/** A password opens everything that its user has: a token that opens less must not make one. */
function refuseLimitedToken({ via, scopes }: Principal): void {
  const limited = via.kind === "token" && !(via.allTeams && allScopes.every((scope) => scopes.includes(scope)));
  if (limited)
    throw new ApiError(
      "forbidden",
      "A token that is limited to scopes or teams cannot set a first password. Use one with all of yours, or the browser.",
    );
}
