/** Fires due items of teams in turn, so that a team with thousands of them does not delay the others. */
import { settled, TeamTurns } from "./team-turns.ts";

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
  readonly #turns = new TeamTurns();

  constructor(firing: Firing<Due>) {
    this.#firing = firing;
  }

  /**
   * Fires some due items of each team, all with the same time `now`. Returns whether more items may be due. If so, the
   * caller starts the next round at once.
   */
  async round(now: number): Promise<boolean> {
    const due = await this.#firing.teams(now);
    this.#forgetOthers(new Set(due));
    const share = Math.max(leastShare, Math.floor(page / due.length));
    const teams = due.filter((team) => !this.#turns.isBusy(team));
    let happened = false;
    let batch = new Map<number, Due[]>();
    for (const team of teams) {
      batch.set(team, await this.#next(team, now, share));
      if (batch.size * share < page) continue;
      happened = (await this.#fireAll(batch, now)) || happened;
      batch = new Map();
    }
    happened = (await this.#fireAll(batch, now)) || happened;
    return happened || teams.some((team) => this.#places.has(team));
  }

  /** Resolves when no item is being fired. */
  settled(): Promise<void> {
    return this.#turns.settled();
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
   * Fires items of some teams, and waits a limited time until all are done. A failure of one item does not affect the
   * others. Returns whether any item started something.
   */
  async #fireAll(batch: ReadonlyMap<number, readonly Due[]>, now: number): Promise<boolean> {
    const newest = [...batch.values()]
      .flatMap((items) => items.map(({ next_run }) => next_run))
      .sort()
      .at(-1);
    if (newest !== undefined) await this.#firing.note(newest);
    for (const [team, items] of batch)
      this.#turns.begin(team, () => settled(items.map((due) => this.#firing.fire(due, now))));
    return this.#turns.results();
  }
}
