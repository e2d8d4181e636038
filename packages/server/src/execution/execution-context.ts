/** The services that the functions in this folder use. */
import type { Logger } from "pino";
import type { KeyRing } from "../domain/secrets/key-ring.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Engines } from "../engines/registry.ts";
import type { Disk } from "../machine/disk.ts";
import type { Faults } from "../machine/faults.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { Store } from "../store/drivers/store.ts";
import type { Signals } from "../turns/signals.ts";

export interface ExecutionContext {
  readonly store: Store;
  readonly engines: Engines;
  readonly keys: KeyRing;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly log: Logger;
  readonly faults: Faults;
  readonly metrics: ServerMetrics;
  readonly disk: Disk;
  /** Id of this server's data folder. Each attempt stores it, so that a server recognizes its own attempts. */
  readonly serverId: string;
}
