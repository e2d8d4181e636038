/** The configuration and services that every step of a server start uses. */
import type { Logger } from "pino";
import type { Config } from "../configuration/config.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { Changes } from "../turns/changes.ts";

export interface Surroundings {
  readonly config: Config;
  readonly folder: DataFolder;
  readonly log: Logger;
  readonly clock: Clock;
  readonly metrics: ServerMetrics;
  readonly changes: Changes;
  /** Work to do before the server exits because another one has taken its database. */
  readonly beforeRivalExit: Set<() => Promise<unknown>>;
}
