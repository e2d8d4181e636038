/**
 * Counts, for each team, the bytes of uploads that are still arriving. These bytes already use disk space, but are not
 * yet part of the stored usage that quotas check.
 */

/** Number of bytes after which the quota of a team with arriving uploads is checked again. */
const step = 1024 * 1024;

interface Arriving {
  bytes: number;
  /** Value of `bytes` at which the next quota check is due. */
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
