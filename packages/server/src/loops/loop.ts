/** A loop: rereads state, does what is due, sleeps until woken or until its interval has passed. */
import type { Logger } from "pino";
import type { Signal } from "../domain/signals.ts";

export interface Loop {
  readonly name: string;
  readonly signal: Signal;
  /** Milliseconds between two runs that nobody woke. */
  readonly interval: number;
  runOnce(): Promise<void>;
}

/** Returns how to stop it; the stop waits for the run under way. */
export function startLoop(loop: Loop, log: Logger): () => Promise<void> {
  const abort = new AbortController();
  const done = (async () => {
    while (!abort.signal.aborted) {
      try {
        await loop.runOnce();
      } catch (error) {
        log.error({ err: error, loop: loop.name }, "loop failed; it runs again");
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
      await loop.signal.wait(loop.interval, abort.signal);
    }
  })();
  return async () => {
    abort.abort();
    await done;
  };
}
