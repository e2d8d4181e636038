/** A loop: rereads state, does what is due, sleeps until woken or until its interval has passed. */
import type { Logger } from "pino";
import type { Disk } from "../disk.ts";
import type { Clock } from "../domain/clock.ts";
import type { KeyRing } from "../domain/key-ring.ts";
import type { Signal, Signals } from "../domain/signals.ts";
import type { Engine } from "../engines/engine.ts";
import type { Faults } from "../faults.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { Store } from "../store/store.ts";

export interface Loop {
  readonly name: string;
  readonly signal: Signal;
  /** Milliseconds between two runs that nobody woke. */
  readonly interval: number;
  runOnce(): Promise<void>;
}

/** What the loops that run jobs work with. */
export interface JobLoopContext {
  readonly store: Store;
  readonly engine: Engine;
  readonly keys: KeyRing;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly log: Logger;
  readonly faults: Faults;
  readonly metrics: ServerMetrics;
  readonly disk: Disk;
  /** Names this data folder: attempts carry it, so that a server knows its own. */
  readonly serverId: string;
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
