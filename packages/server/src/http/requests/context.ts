/** The contexts that routes get, one type for each group of routes. */
import type { Finding } from "@millrace/contract";
import type { Logger } from "pino";
import type { Blobs } from "../../blobs/blobs.ts";
import type { Packs } from "../../blobs/packs.ts";
import type { ListeningSettings } from "../../configuration/groups/listening.ts";
import type { RequestSettings } from "../../configuration/groups/requests.ts";
import type { ExportRules } from "../../domain/datasets/exports.ts";
import type { StorageWish } from "../../domain/datasets/storage-listings.ts";
import type { NotificationsContext } from "../../domain/events/notifications.ts";
import type { JobsContext } from "../../domain/jobs/jobs.ts";
import type { KeyRing } from "../../domain/secrets/key-ring.ts";
import type { Clock } from "../../domain/time/clock.ts";
import type { Engines } from "../../engines/registry.ts";
import type { Runners } from "../../engines/runners/runners.ts";
import type { LogArchive } from "../../job-logs/log-archive.ts";
import type { Disk } from "../../machine/disk.ts";
import type { Faults } from "../../machine/faults.ts";
import type { ServerMetrics } from "../../metrics/server-metrics.ts";
import type { Store } from "../../store/drivers/store.ts";
import type { Changes } from "../../turns/changes.ts";
import type { Warehouses } from "../../warehouses/warehouses.ts";
import type { Callers } from "../connections/callers.ts";
import type { Connections } from "../connections/connections.ts";
import type { GrowingDelays } from "../connections/growing-delays.ts";
import type { RateLimit } from "../connections/rate-limit.ts";
import type { Site } from "./site.ts";

/** What every request needs before its route runs: authentication, limits and the store. */
export interface RequestContext {
  readonly store: Store;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly requests: RequestSettings;
  readonly connections: Connections;
  /** Determines the key by which a request is counted for rate limits. */
  readonly callers: Callers;
  readonly limits: SignInLimits;
  readonly changes: Changes;
  readonly site: Site;
}

/** Context for routes and pages of people and teams. */
export interface PeopleContext extends RequestContext, Pick<JobsContext, "publicUrl" | "quotas"> {}

/** Context for routes that create or change work: jobs, pipelines, schedules. */
export interface WorkContext extends RequestContext, JobsContext {
  readonly disk: Disk;
}

/** Context for routes of jobs, their files and their logs. */
export interface JobContext extends WorkContext {
  readonly engines: Engines;
  /** Opens the engines of new or changed clusters, and closes those of removed ones. */
  readonly keepEngines: () => Promise<void>;
  readonly faults: Faults;
  readonly blobs: Blobs;
  readonly archive?: LogArchive | undefined;
  readonly listening: ListeningSettings;
  readonly log: Logger;
  readonly metrics: ServerMetrics;
  /** Aborted when the server stops, so that endless streams end. */
  readonly stopping: AbortSignal;
}

/** Context for routes of datasets, their copies and exports. */
export interface DatasetContext
  extends RequestContext,
    Pick<JobsContext, "jobPaths" | "publicUrl" | "quotas" | "signals"> {
  readonly disk: Disk;
  readonly blobs: Blobs;
  readonly exports: ExportRules;
  /** Measures the disk usage of a team's warehouse. */
  readonly measures: { measure(teamId: number): Promise<void> };
  /** Aborted when the server stops, so that retries give up. */
  readonly stopping: AbortSignal;
  /** Hours between garbage collections of a warehouse; 0 disables them. */
  readonly tidyHours: number;
  readonly warehouses: Warehouses;
  /**
   * Lists a folder of an object store. The answer is untrusted. `unwanted` is aborted when nobody waits for it any more.
   */
  readonly listStorage: (wish: StorageWish, unwanted: AbortSignal) => Promise<unknown>;
}

/** Context for routes of webhooks and notifications. */
export interface EventContext extends RequestContext, NotificationsContext {}

/** Context for health, metrics and the API document. */
export interface SystemContext extends RequestContext, Pick<JobsContext, "quotas"> {
  readonly disk: Disk;
  readonly metrics: ServerMetrics;
  /** Returns false while the server starts or stops. */
  readonly ready: () => boolean;
  /** The version of the program. */
  readonly version: string;
  /** Checks the configuration and this machine. */
  readonly diagnose: () => Promise<Finding[]>;
  /** Whether the operator has set up e-mail. */
  readonly sendsMail: boolean;
}

/** Context of the whole HTTP server. Each group of routes gets the part with its own type. */
/** Context for the routes of runners. */
export interface RunnerContext extends RequestContext {
  readonly runners: Runners;
  readonly packs: Packs;
  readonly disk: Disk;
}

export interface HttpContext
  extends PeopleContext,
    JobContext,
    DatasetContext,
    EventContext,
    RunnerContext,
    SystemContext {}

export interface SignInLimits {
  /**
   * Limits password sign-ins, both correct and wrong ones. Counts them per caller, and separately for each known
   * browser.
   */
  readonly logins: RateLimit;
  /**
   * Delays further attempts after wrong passwords. Counts them per user and caller, and separately for each known
   * browser.
   */
  readonly guesses: GrowingDelays;
  /** Limits, per user, the checks of the current password when a signed-in user changes the password. */
  readonly passwords: RateLimit;
  /** Limits, per caller, how many device logins are started. */
  readonly devices: RateLimit;
  /** Limits, per user, how many device logins are confirmed or denied. */
  readonly answers: RateLimit;
  /** Limits, per caller, the wrong secrets of sign-in links, invitations and device codes. */
  readonly secrets: RateLimit;
  /** Limits, per device login, how often the client asks whether it was confirmed. */
  readonly polls: RateLimit;
  /** Limits, per caller, the requests to routes and forms that need neither token nor session. */
  readonly strangers: RateLimit;
  /** Limits, per address, the requests with an invalid token. */
  readonly badTokens: RateLimit;
  /** Limits, per team, the test e-mails: nobody asks an address whether it wants them. */
  readonly testMails: RateLimit;
}
