/**
 * Limits how many storages are listed at a time, because each listing is a process that a storage may keep busy for
 * half a minute. Some places are kept for users and teams that list nothing: so a few users cannot take them all.
 */
import { ApiError } from "@millrace/contract";

/** Maximum number of listings of one user, of one team, of all who list more than one thing, and of all. */
const most = { user: 3, team: 4, shared: 8, all: 12 };

interface Lister {
  readonly userId: number;
  readonly teamId: number;
}

export class ListingPlaces {
  readonly #taken = new Set<Lister>();

  /** Takes a place for a listing, and returns a function that releases it. Throws if there is none. */
  take({ userId, teamId }: Lister): () => void {
    const taken = [...this.#taken];
    const ofUser = taken.filter((one) => one.userId === userId).length;
    const ofTeam = taken.filter((one) => one.teamId === teamId).length;
    const room = ofUser + ofTeam === 0 ? most.all : most.shared;
    if (ofUser >= most.user || ofTeam >= most.team || taken.length >= room)
      throw new ApiError(
        "too_many_requests",
        "Too many storages are being listed at once. Try again in some seconds.",
        { retryAfter: 5 },
      );
    const own = { userId, teamId };
    this.#taken.add(own);
    return () => void this.#taken.delete(own);
  }
}
