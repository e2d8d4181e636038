/**
 * Tracks the bytes of uploads that are still arriving, by team, in memory. They use disk space before any quota counts
 * them.
 */

/** Number of arriving bytes of a team between two quota checks. */
const step = 1024 * 1024;

interface Arriving {
  bytes: number;
  /** Byte count at which the next check is due. */
  next: number;
}

export class UploadsUnderWay {
  readonly #teams = new Map<number, Arriving>();

  of(team: number): number {
    return this.#teams.get(team)?.bytes ?? 0;
  }

  /**
   * Counts one upload until `end` is called. `add` returns true if the team's quota must be checked before more bytes
   * are accepted.
   */
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
