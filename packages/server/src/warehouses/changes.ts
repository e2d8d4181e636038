/**
 * Queues what users do with a team's warehouse, and runs it one at a time: changes, because each is a process that needs
 * a lock on the warehouse, and reads of rows, so that a team starts no more than one such process at once. The length of
 * the queue is limited.
 */
import { inOwnName } from "../turns/asker.ts";
import { WarehouseBusy } from "./warehouse-processes.ts";

const mostWaiting = 100;

interface Change {
  readonly run: () => Promise<void>;
  readonly giveUp: (error: WarehouseBusy) => void;
}

export class Changes {
  /** Queued changes by team; a team has an entry only while a change is running. */
  readonly #lines = new Map<number, Change[]>();
  readonly #what: string;

  /** `what` says in the plural what is queued. */
  constructor(what = "changes of the team's datasets") {
    this.#what = what;
  }

  inTurn<T>(teamId: number, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const own = inOwnName(work);
    const run = () =>
      own().then(resolve, (error) => {
        reject(error);
        throw error;
      });
    const line = this.#lines.get(teamId);
    if (line && line.length >= mostWaiting)
      reject(
        new WarehouseBusy(
          `${mostWaiting} ${this.#what} are already queued, which is the limit. Try again in a minute.`,
        ),
      );
    else if (line) line.push({ run, giveUp: reject });
    else void this.#runAll(teamId, run);
    return promise;
  }

  async #runAll(teamId: number, first: () => Promise<void>): Promise<void> {
    const line: Change[] = [];
    this.#lines.set(teamId, line);
    for (let run: typeof first | undefined = first; run; run = line.shift()?.run) {
      // This change timed out waiting for the lock of the warehouse. The queued changes would also time out, so they
      // fail now.
      await run().catch((error) => {
        if (error instanceof WarehouseBusy) for (const { giveUp } of line.splice(0)) giveUp(error);
      });
    }
    this.#lines.delete(teamId);
  }
}
