/**
 * Finds users who cannot run jobs in a team: they are disabled, are not in the team, or are only viewers. Schedules,
 * tasks and pipelines start nothing in the name of such a user.
 */
import { type Role, roleIncludes } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { eachPart } from "../../store/queries/batches.ts";
import { standingsIn } from "../../store/queries/people/users.ts";

/** Whether a user is disabled, and the user's role in one team. */
export interface Standing {
  readonly disabled_at: string | null;
  /** Role in the team; null if the user is not a member. */
  readonly role: Role | null;
}

/**
 * Returns why a user cannot run jobs in a team, as a text to put after the username. Returns undefined if the user can.
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
