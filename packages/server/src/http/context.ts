/** What the routes work with. */
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import type { Disk } from "../disk.ts";
import type { Clock } from "../domain/clock.ts";
import type { ExportRules } from "../domain/exports.ts";
import type { JobsContext } from "../domain/jobs.ts";
import type { Engine } from "../engines/engine.ts";
import type { Faults } from "../faults.ts";
import type { ServerMetrics } from "../metrics/server-metrics.ts";
import type { TeamStores } from "../team-stores/team-stores.ts";
import type { Connections } from "./connections.ts";
import type { RateLimit } from "./rate-limit.ts";

export interface HttpContext extends JobsContext {
  readonly config: Config;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly log: Logger;
  readonly faults: Faults;
  readonly metrics: ServerMetrics;
  /** Of the program. */
  readonly version: string;
  readonly disk: Disk;
  readonly teamStores: TeamStores;
  readonly exports: ExportRules & { readonly path: (id: string, file: number) => string };
  readonly filePath: (blob: string) => string;
  /** False while starting and stopping. */
  readonly ready: () => boolean;
  /** Aborted when the server stops: what streams without end must let go. */
  readonly stopping: AbortSignal;
  readonly connections: Connections;
  readonly limits: {
    readonly logins: RateLimit;
    /** Per user, whatever the address. */
    readonly passwords: RateLimit;
    readonly polls: RateLimit;
    readonly badTokens: RateLimit;
  };
}
