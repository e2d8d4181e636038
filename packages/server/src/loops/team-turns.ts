/**
 * Turns of teams: work that a loop does on behalf of teams, such as firing their due items. A team has one turn at a
 * time. One item may start thousands of jobs, so the loop waits for a turn only for a limited time: a slow turn
 * continues in the background while other teams have theirs.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { actingFor } from "../turns/asker.ts";

/** Longest time in milliseconds that the loop waits for turns. */
export const turnMs = 1000;

export class TeamTurns {
  readonly #underWay = new Map<number, Promise<void>>();
  #happened = false;
  #failure: { readonly error: unknown } | undefined;

  /** Whether the team has a turn that has not ended. */
  isBusy(team: number): boolean {
    return this.#underWay.has(team);
  }

  /** Begins the turn of a team that is not busy. `work` returns whether anything happened. */
  begin(team: number, work: () => Promise<boolean>): void {
    const turn = actingFor(team, work).then(
      (happened) => {
        this.#happened ||= happened;
      },
      (error: unknown) => {
        this.#failure ??= { error };
      },
    );
    this.#underWay.set(
      team,
      turn.finally(() => this.#underWay.delete(team)),
    );
  }

  /** Begins a turn for each team with items that is not busy. The turn fires all its items together. */
  beginAll<Item extends { readonly team_id: number }>(
    items: readonly Item[],
    fire: (item: Item) => Promise<boolean>,
  ): void {
    for (const [team, due] of Map.groupBy(items, ({ team_id }) => team_id))
      if (!this.isBusy(team)) this.begin(team, () => settled(due.map(fire)));
  }

  /**
   * Waits until all turns have ended, but at most `turnMs`. Returns whether anything happened in the turns that ended
   * since the last call. Throws the first failure, if any.
   */
  async results(): Promise<boolean> {
    const over = new AbortController();
    await Promise.race([this.settled(), sleep(turnMs, undefined, { signal: over.signal }).catch(() => {})]);
    over.abort();
    const [happened, failure] = [this.#happened, this.#failure];
    this.#happened = false;
    this.#failure = undefined;
    if (failure) throw failure.error;
    return happened;
  }

  /** Resolves when all turns have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay.values());
  }
}

/** Waits for all promises, then throws the first failure, if any. Returns true if any of them resolved to true. */
export async function settled(firings: readonly Promise<boolean>[]): Promise<boolean> {
  const results = await Promise.allSettled(firings);
  for (const result of results) if (result.status === "rejected") throw result.reason;
  return results.some((result) => result.status === "fulfilled" && result.value);
}
