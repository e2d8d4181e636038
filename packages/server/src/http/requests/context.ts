/** What the routes work with. */
import type { Logger } from "pino";
import type { Blobs } from "../../blobs/blobs.ts";
import type { Config } from "../../configuration/config.ts";
import type { ExportRules } from "../../domain/datasets/exports.ts";
import type { JobsContext } from "../../domain/jobs/jobs.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { Engine } from "../../engines/engine.ts";
import type { LogArchive } from "../../job-logs/log-archive.ts";
import type { Disk } from "../../machine/disk.ts";
import type { Faults } from "../../machine/faults.ts";
import type { ServerMetrics } from "../../metrics/server-metrics.ts";
import type { Warehouses } from "../../warehouses/warehouses.ts";
import type { Callers } from "../connections/callers.ts";
import type { Connections } from "../connections/connections.ts";
import type { GrowingDelays } from "../connections/growing-delays.ts";
import type { RateLimit } from "../connections/rate-limit.ts";

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
  readonly warehouses: Warehouses;
  /** Of what a team's warehouse takes on disk. */
  readonly measures: { measure(teamId: number): Promise<void> };
  readonly exports: ExportRules;
  readonly blobs: Blobs;
  readonly archive?: LogArchive | undefined;
  /** False while starting and stopping. */
  readonly ready: () => boolean;
  /** Aborted when the server stops: what streams without end must let go. */
  readonly stopping: AbortSignal;
  readonly connections: Connections;
  /** Whose budget a request counts against. */
  readonly callers: Callers;
  readonly limits: Limits;
}

interface Limits {
  /** Passwords tried, right or wrong, by caller; of a known browser by itself. */
  readonly logins: RateLimit;
  /** Wrong passwords, by user and caller; of a known browser by itself. */
  readonly guesses: GrowingDelays;
  /** Present passwords, where somebody who is signed in changes theirs, by user. */
  readonly passwords: RateLimit;
  /** Device logins begun, by caller. */
  readonly devices: RateLimit;
  /** Device logins answered, by user. */
  readonly answers: RateLimit;
  /** Links, invitations and device codes that are wrong, by caller. */
  readonly secrets: RateLimit;
  /** Questions about one device login. */
  readonly polls: RateLimit;
  /** Calls of routes and forms of pages that need neither token nor session, by caller, whatever they say. */
  readonly strangers: RateLimit;
  readonly badTokens: RateLimit;
}
