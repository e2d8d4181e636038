/** Deletes packed virtualenvs that no job has used for a configured number of days, or that are too many. */
import type { Packs } from "../blobs/packs.ts";
import { type Clock, day } from "../domain/time/clock.ts";

export interface PacksContext {
  readonly clock: Clock;
  readonly packs: Packs;
  /** Days without use after which a pack is deleted; 0 keeps it forever. */
  readonly envDays: number;
}

export const removeOldPacks = ({ clock, packs, envDays }: PacksContext): Promise<void> =>
  packs.removeOld(envDays === 0 ? 0 : clock.now() - envDays * day);
