/**
 * Runs work of a loop in the background. Limits how much work runs at a time, in total and for each team, so that no
 * team blocks the others.
 */
export interface Bounds {
  readonly atOnce: number;
  readonly perTeam: number;
}

export class TeamPool {
  readonly #bounds: Bounds;
  readonly #onEnd: () => void;
  readonly #underWay = new Map<string, { readonly team: number; readonly done: Promise<void> }>();

  /** `onEnd` is called whenever some work has ended, so that the loop can start more. */
  constructor(bounds: Bounds, onEnd: () => void) {
    this.#bounds = bounds;
    this.#onEnd = onEnd;
  }

  has(key: string): boolean {
    return this.#underWay.has(key);
  }

  get isFull(): boolean {
    return this.#underWay.size >= this.#bounds.atOnce;
  }

  /** Returns the teams that have reached the limit per team. */
  fullTeams(): number[] {
    const counts = new Map<number, number>();
    for (const { team } of this.#underWay.values()) counts.set(team, (counts.get(team) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= this.#bounds.perTeam).map(([team]) => team);
  }

  /** Starts work, which must not reject. The caller checks the limits first. */
  begin(key: string, team: number, work: () => Promise<void>): void {
    const done = work().finally(() => {
      this.#underWay.delete(key);
      this.#onEnd();
    });
    this.#underWay.set(key, { team, done });
  }

  async settled(): Promise<void> {
    await Promise.all([...this.#underWay.values()].map(({ done }) => done));
  }
}
