/**
 * Changes of a team's warehouse that people ask for come one after another: each is a process, and all of one warehouse wait for
 * the same lock. Only so many wait.
 */
import { WarehouseBusy } from "./warehouse-processes.ts";

const mostWaiting = 100;

interface Change {
  readonly run: () => Promise<void>;
  readonly giveUp: (error: WarehouseBusy) => void;
}

export class Changes {
  /** By team, those that wait; a team without a line has none under way. */
  readonly #lines = new Map<number, Change[]>();

  inTurn<T>(teamId: number, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const run = () =>
      work().then(resolve, (error) => {
        reject(error);
        throw error;
      });
    const line = this.#lines.get(teamId);
    if (line && line.length >= mostWaiting)
      reject(new WarehouseBusy(`${mostWaiting} changes of the team's datasets wait already. Try again in a minute.`));
    else if (line) line.push({ run, giveUp: reject });
    else void this.#runAll(teamId, run);
    return promise;
  }

  async #runAll(teamId: number, first: () => Promise<void>): Promise<void> {
    const line: Change[] = [];
    this.#lines.set(teamId, line);
    for (let run: typeof first | undefined = first; run; run = line.shift()?.run) {
      // Somebody has kept the warehouse for as long as a change waits: those behind would only wait as long again.
      await run().catch((error) => {
        if (error instanceof WarehouseBusy) for (const { giveUp } of line.splice(0)) giveUp(error);
      });
    }
    this.#lines.delete(teamId);
  }
}
