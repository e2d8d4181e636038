/** Fires due items of teams in turn, so that a team with thousands of them does not delay the others. */

/**
 * Number of items that are fired together in one commit. Many items are due at the same time, for example at midnight.
 */
export const page = 50;
/** Minimum number of items that each team fires in one round, however many teams there are. */
const leastShare = 5;

/** What a loop does with its due items, such as schedules or tasks: how it reads them and how it fires one. */
export interface Firing<Due> {
  /** Returns the ids of teams that have due items. */
  teams(now: number): Promise<readonly number[]>;
  /**
   * Returns up to `limit` due items of the team, in order. They begin after the item `after`, or with the first due
   * item if `after` is undefined.
   */
  of(team: number, now: number, after: Due | undefined, limit: number): Promise<Due[]>;
  /** Called before a batch of items fires. `tick` is the latest due time of these items. */
  note(tick: string): Promise<void>;
  /** Fires one item. Returns false if the item started nothing. Rejects only if the whole round must end. */
  fire(due: Due, now: number): Promise<boolean>;
}

export class TeamsInTurn<Due extends { readonly next_run: string }> {
  readonly #firing: Firing<Due>;
  /**
   * The last item that was read, by team. The team's next round continues after this item. So an item that is still due
   * after it fired is read again only after the team's other due items.
   */
  readonly #places = new Map<number, Due>();

  constructor(firing: Firing<Due>) {
    this.#firing = firing;
  }

  /**
   * Fires some due items of each team, all with the same time `now`. Returns whether more items may be due. If so, the
   * caller starts the next round at once.
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

  /**
   * Fires a batch of items and waits until all are done. A failure of one item does not affect the others. Returns
   * whether any item started something.
   */
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

/** Waits for all promises, then throws the first failure, if any. Returns true if any of them resolved to true. */
export async function settled(firings: readonly Promise<boolean>[]): Promise<boolean> {
  const results = await Promise.allSettled(firings);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return results.some((result) => result.status === "fulfilled" && result.value);
}
