/** Whether whoever something runs as can still run jobs in its team. Nothing begins in the name of somebody who cannot. */
import { type Role, roleIncludes } from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { eachPart } from "../../store/queries/batches.ts";
import { standingsIn } from "../../store/queries/people/users.ts";

/** How somebody stands in a team. */
export interface Standing {
  readonly disabled_at: string | null;
  /** Null: not in the team. */
  readonly role: Role | null;
}

/** As part of a sentence: `who …`. Undefined: they can. */
export function whyAbsent({ disabled_at, role }: Standing): string | undefined {
  if (disabled_at !== null) return "is disabled";
  if (role === null) return "is not in the team";
  return roleIncludes(role, "editor") ? undefined : `is ${role} in the team, and may not run jobs`;
}

/** Somebody who cannot run jobs in the team, and why. */
export interface Absence {
  readonly username: string;
  readonly why: string;
}

/** Of these users those who cannot, by their ids. */
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
