/** Builds the context that all HTTP routes share. */
import { diagnoseAside } from "../admin/doctor/diagnose-aside.ts";
import { Callers } from "../http/connections/callers.ts";
import type { HttpContext } from "../http/requests/context.ts";
import { siteOf } from "../http/requests/site.ts";
import { storageLister } from "../senders/storage-listing.ts";
import { version } from "../version.ts";
import { openConnections } from "./http-server.ts";
import { signInLimits } from "./sign-in-limits.ts";
import type { Wiring } from "./wiring.ts";

export function httpContext({ config, machinery, exports, publicUrl, readiness }: Wiring): HttpContext {
  const { execution, warehouses, measures, blobs, packs, archive, runners, clusters } = machinery;
  const { store, keys, engines, signals, clock, log, faults, metrics, disk } = execution;
  const { listening, requests, localEngine, quotas } = config;
  const callers = new Callers(localEngine.users);
  return {
    ...{ store, keys, engines, signals, clock, log, faults, metrics, disk, warehouses, measures },
    ...{ listening, requests, quotas, callers, exports, publicUrl, version },
    ...{ blobs, packs, archive, runners, keepEngines: clusters.keep },
    diagnose: () => diagnoseAside(config),
    site: siteOf(listening.publicUrl),
    sendsMail: config.mail.smtpUrl !== "",
    tidyHours: config.warehouses.tidyHours,
    timezone: config.jobs.timezone,
    jobPaths: localEngine.jobPaths.map(({ path }) => path),
    listStorage: storageLister(config.storage.networks),
    ready: readiness.isReady,
    stopping: readiness.stopping,
    changes: signals.changes,
    connections: openConnections(config, callers),
    limits: signInLimits(requests, clock),
  };
}
