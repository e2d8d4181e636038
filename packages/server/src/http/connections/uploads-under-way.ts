/** Uploads that are still arriving: they take disk before any quota counts them. Kept in memory, by team. */

/** Bytes of a team between two checks. */
const step = 1024 * 1024;

interface Arriving {
  bytes: number;
  /** When the next check is due. */
  next: number;
}

export class UploadsUnderWay {
  readonly #teams = new Map<number, Arriving>();

  of(team: number): number {
    return this.#teams.get(team)?.bytes ?? 0;
  }

  /** Counts one upload until its `end`. `add` returns whether the team's room must be checked before more is taken. */
  begin(team: number): { add(bytes: number): boolean; end(): void } {
    let own = 0;
    return {
      add: (bytes) => {
        own += bytes;
        return this.#add(team, bytes);
      },
      end: () => {
        this.#add(team, -own);
        own = 0;
        if (this.of(team) === 0) this.#teams.delete(team);
      },
    };
  }

  #add(team: number, bytes: number): boolean {
    const arriving = this.#teams.get(team) ?? { bytes: 0, next: step };
    this.#teams.set(team, arriving);
    arriving.bytes += bytes;
    const isDue = arriving.bytes >= arriving.next;
    if (isDue || bytes < 0) arriving.next = arriving.bytes + step;
    return isDue;
  }
}
