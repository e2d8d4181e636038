/**
 * Fair queue of reads on PostgreSQL. A read on behalf of a request takes a connection only when its turn comes: teams
 * take turns, so do the callers of a team, and no team has all connections. The server's own reads, such as those of
 * loops, sign-ins and `/readyz`, do not wait here; connections are left for them.
 */
import { currentAsker } from "../../turns/asker.ts";
import { Turns } from "../../turns/turns.ts";
import { StoreUnavailable } from "./unavailable.ts";
import { ownerOf } from "./writes-in-turn.ts";

interface ReadLimits {
  /** Maximum number of reads on behalf of requests that have a connection at a time. */
  readonly asked: number;
  /** The same for the requests of one team. */
  readonly ofOneTeam: number;
  /** Milliseconds after which a database that does not answer counts as unreachable. */
  readonly timeout: number;
}

export class ReadsInTurn {
  readonly #turns: Turns;
  readonly #timeout: number;
  readonly #silence: () => number;

  /** `silence` returns for how many milliseconds the database has not answered any read. */
  constructor({ asked, ofOneTeam, timeout }: ReadLimits, silence: () => number) {
    this.#turns = new Turns(asked, ofOneTeam);
    this.#timeout = timeout;
    this.#silence = silence;
  }

  /** Waits until a read may take a connection. Resolves with a function to call when the connection is released. */
  async take(): Promise<() => void> {
    const asker = currentAsker();
    if (!asker) return () => {};
    const turn = Promise.withResolvers<() => void>();
    let hasGivenUp = false;
    void this.#turns.run(
      () => (hasGivenUp ? Promise.resolve() : new Promise<void>((leave) => turn.resolve(leave))),
      ownerOf(asker),
      asker.caller,
    );
    // A long queue says nothing about the database. Only if it answers nobody, waiting is pointless.
    const watch = setInterval(() => {
      if (this.#silence() < this.#timeout) return;
      hasGivenUp = true;
      turn.reject(new StoreUnavailable("nothing"));
    }, this.#timeout);
    try {
      return await turn.promise;
    } finally {
      clearInterval(watch);
    }
  }
}
