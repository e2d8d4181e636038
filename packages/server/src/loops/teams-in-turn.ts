/** Fires what is due, teams in turn: one team's thousands hold up no other team's one. */

/** Fired at a time, so that they share a commit: at midnight much is due at once. */
export const page = 50;
/** What a team has of a round at least, however many teams there are. */
const leastShare = 5;

/** What a loop knows of its kind of thing that comes due. */
export interface Firing<Due> {
  /** Teams that have something due. */
  teams(now: number): Promise<readonly number[]>;
  /** The first of the team's that are due, after this one. */
  of(team: number, now: number, after: Due | undefined, limit: number): Promise<Due[]>;
  /** Before ticks fire, the newest of which is this one. */
  note(tick: string): Promise<void>;
  /** False: nothing happened. Rejects only with what ends the round. */
  fire(due: Due, now: number): Promise<boolean>;
}

export class TeamsInTurn<Due extends { readonly next_run: string }> {
  readonly #firing: Firing<Due>;
  /** How far the walk over a team's has got. What stays due, whatever the reason, is passed over until it begins anew. */
  readonly #places = new Map<number, Due>();

  constructor(firing: Firing<Due>) {
    this.#firing = firing;
  }

  /**
   * A share of each team. All of it is by one time, which the caller has reason to believe. Returns whether another round
   * may find something: then no pause comes first.
   */
  async round(now: number): Promise<boolean> {
    const teams = await this.#firing.teams(now);
    this.#forgetOthers(new Set(teams));
    const share = Math.max(leastShare, Math.floor(page / teams.length));
    let happened = false;
    let batch: Due[] = [];
    for (const team of teams) {
      batch.push(...(await this.#next(team, now, share)));
      if (batch.length < page) continue;
      happened = (await this.#fireAll(batch, now)) || happened;
      batch = [];
    }
    return (await this.#fireAll(batch, now)) || happened || this.#places.size > 0;
  }

  #forgetOthers(teams: ReadonlySet<number>): void {
    for (const team of this.#places.keys()) if (!teams.has(team)) this.#places.delete(team);
  }

  async #next(team: number, now: number, share: number): Promise<Due[]> {
    const found = await this.#firing.of(team, now, this.#places.get(team), share);
    const last = found.at(-1);
    if (last && found.length === share) this.#places.set(team, last);
    else this.#places.delete(team);
    return found;
  }

  /** One that fails takes no other along, and is over before the next round begins. */
  async #fireAll(batch: readonly Due[], now: number): Promise<boolean> {
    const newest = batch
      .map(({ next_run }) => next_run)
      .sort()
      .at(-1);
    if (newest === undefined) return false;
    await this.#firing.note(newest);
    return settled(batch.map((due) => this.#firing.fire(due, now)));
  }
}

/** Waits for all of them, then throws what one of them threw. Returns whether anything happened. */
export async function settled(firings: readonly Promise<boolean>[]): Promise<boolean> {
  const results = await Promise.allSettled(firings);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return results.some((result) => result.status === "fulfilled" && result.value);
}
