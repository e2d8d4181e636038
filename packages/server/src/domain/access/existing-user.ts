/** Looks up a user by name. */
import { ApiError } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { findUser, type UserRow } from "../../store/queries/people/users.ts";

/** Returns the user with this name, or throws `not_found`. */
export async function existingUser(db: Db, username: string): Promise<UserRow> {
  const row = await findUser(db, username);
  if (!row) throw new ApiError("not_found", `There is no user ${username}.`);
  return row;
}
