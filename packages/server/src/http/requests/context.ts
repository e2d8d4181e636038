/** What the routes work with, room by room. */
import type { Logger } from "pino";
import type { Blobs } from "../../blobs/blobs.ts";
import type { ListeningSettings } from "../../configuration/groups/listening.ts";
import type { RequestSettings } from "../../configuration/groups/requests.ts";
import type { ExportRules } from "../../domain/datasets/exports.ts";
import type { NotificationsContext } from "../../domain/events/notifications.ts";
import type { JobsContext } from "../../domain/jobs/jobs.ts";
import type { KeyRing } from "../../domain/secrets/key-ring.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { Engines } from "../../engines/registry.ts";
import type { LogArchive } from "../../job-logs/log-archive.ts";
import type { Disk } from "../../machine/disk.ts";
import type { Faults } from "../../machine/faults.ts";
import type { ServerMetrics } from "../../metrics/server-metrics.ts";
import type { Store } from "../../store/drivers/store.ts";
import type { Warehouses } from "../../warehouses/warehouses.ts";
import type { Callers } from "../connections/callers.ts";
import type { Connections } from "../connections/connections.ts";
import type { GrowingDelays } from "../connections/growing-delays.ts";
import type { RateLimit } from "../connections/rate-limit.ts";

/** What every request needs before its route runs: who calls, whether they may, how much and how often. */
export interface RequestContext {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly requests: RequestSettings;
  readonly connections: Connections;
  /** Whose budget a request counts against. */
  readonly callers: Callers;
  readonly limits: SignInLimits;
}

/** For routes and pages of people and teams. */
export interface PeopleContext extends RequestContext, Pick<JobsContext, "publicUrl" | "quotas"> {}

/** For routes that create work or change it: jobs, pipelines, schedules. */
export interface WorkContext extends RequestContext, JobsContext {
  readonly disk: Disk;
}

/** For routes of jobs, their files and their logs. */
export interface JobContext extends WorkContext {
  readonly engines: Engines;
  readonly faults: Faults;
  readonly blobs: Blobs;
  readonly archive?: LogArchive | undefined;
  readonly listening: ListeningSettings;
  readonly log: Logger;
  readonly metrics: ServerMetrics;
  /** Aborted when the server stops: what streams without end must end. */
  readonly stopping: AbortSignal;
}

/** For routes of datasets, their copies and exports. */
export interface DatasetContext
  extends RequestContext,
    Pick<JobsContext, "jobPaths" | "publicUrl" | "quotas" | "signals"> {
  readonly disk: Disk;
  readonly blobs: Blobs;
  readonly exports: ExportRules;
  /** Measures what a team's warehouse takes on disk. */
  readonly measures: { measure(teamId: number): Promise<void> };
  /** Aborted when the server stops: what retries must give up. */
  readonly stopping: AbortSignal;
  /** Hours between garbage collections in a warehouse; 0 turns them off. */
  readonly tidyHours: number;
  readonly warehouses: Warehouses;
}

/** For routes of webhooks and notifications. */
export interface EventContext extends RequestContext, NotificationsContext {}

/** For health, metrics and the API document. */
export interface SystemContext extends RequestContext, Pick<JobsContext, "quotas"> {
  readonly disk: Disk;
  readonly metrics: ServerMetrics;
  /** False while the server starts and stops. */
  readonly ready: () => boolean;
  /** The version of the program. */
  readonly version: string;
}

/** What the HTTP server is given: each room of routes sees its own part. */
export interface HttpContext extends PeopleContext, JobContext, DatasetContext, EventContext, SystemContext {}

export interface SignInLimits {
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
