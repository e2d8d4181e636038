/** Work that a loop leaves under way: so much at once, and so much of one team, so that no team holds up the others. */
export interface Bounds {
  readonly atOnce: number;
  readonly perTeam: number;
}

export class TeamPool {
  readonly #bounds: Bounds;
  readonly #onEnd: () => void;
  readonly #underWay = new Map<string, { readonly team: number; readonly done: Promise<void> }>();

  /** `onEnd` is called whenever there is room again. */
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

  /** Returns the teams that have as much under way as one team may. */
  fullTeams(): number[] {
    const counts = new Map<number, number>();
    for (const { team } of this.#underWay.values()) counts.set(team, (counts.get(team) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= this.#bounds.perTeam).map(([team]) => team);
  }

  /** Begins work that never rejects. The caller has asked whether there is room. */
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
