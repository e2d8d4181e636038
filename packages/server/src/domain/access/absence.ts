/**
 * Finds users who can no longer run jobs in a team: disabled, removed from the team, or without the role. Schedules,
 * tasks and pipelines start nothing in the name of such a user.
 */
import { type Role, roleIncludes } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { eachPart } from "../../store/queries/batches.ts";
import { standingsIn } from "../../store/queries/people/users.ts";

/** The account state and the role of a user in one team. */
export interface Standing {
  readonly disabled_at: string | null;
  /** Role in the team; null if the user is not a member. */
  readonly role: Role | null;
}

/**
 * Returns why a user cannot run jobs in a team, as the rest of a sentence that begins with the username. Returns
 * undefined if the user can.
 */
export function whyAbsent({ disabled_at, role }: Standing): string | undefined {
  if (disabled_at !== null) return "is disabled";
  if (role === null) return "is not in the team";
  return roleIncludes(role, "editor") ? undefined : `is ${role} in the team, and may not run jobs`;
}

/** A user who cannot run jobs in the team, and why. */
export interface Absence {
  readonly username: string;
  readonly why: string;
}

/** Returns the users among `userIds` who cannot run jobs in the team, keyed by user id. */
export async function absencesIn(db: Db, teamId: number, userIds: Iterable<number>): Promise<Map<number, Absence>> {
  const absences = new Map<number, Absence>();
  await eachPart([...new Set(userIds)], async (part) => {
    for (const { id, username, ...standing } of await standingsIn(db, teamId, part)) {
      const why = whyAbsent(standing);
      if (why !== undefined) absences.set(id, { username, why });
    }
  });
  return absences;
}
