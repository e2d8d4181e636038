/** Starts a server. Its parts start in order, each with what it needs from earlier parts, and stop in reverse order. */
import type { Logger } from "pino";
import type { Config } from "../configuration/config.ts";
import { type Clock, systemClock } from "../domain/time/clock.ts";
import type { Engines, OpenEngine } from "../engines/registry.ts";
import type { Runners } from "../engines/runners/runners.ts";
import { DataFolder } from "../machine/data-folder.ts";
import { ServerMetrics } from "../metrics/server-metrics.ts";
import { notedStore } from "../store/drivers/noted-store.ts";
import type { Store } from "../store/drivers/store.ts";
import { timedStore } from "../store/drivers/timed-store.ts";
import { Changes } from "../turns/changes.ts";
import { closedBlobs } from "./blob-parts.ts";
import { clusterLoops } from "./cluster-loops.ts";
import { exportRules } from "./export-rules.ts";
import { httpContext } from "./http-context.ts";
import { admission, httpServer } from "./http-server.ts";
import { database, databaseLock, lockedFolder } from "./locked-store.ts";
import { allLoops, runningLoops } from "./loops.ts";
import { type Machinery, startMachinery } from "./machinery.ts";
import { opened, type Part, StartedParts } from "./part.ts";
import { type PreparedStore, preparedStore } from "./prepared-store.ts";
import { Readiness } from "./readiness.ts";
import { ServerUrl } from "./server-url.ts";
import type { Surroundings } from "./surroundings.ts";

export interface RunningServer {
  readonly url: string;
  readonly store: Store;
  readonly engines: Engines;
  readonly runners: Runners;
  /** Stops the server: finishes open requests and current runs of loops. Running jobs continue. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly clock?: Clock;
  /** Additional engines, by kind. The jobs of a cluster run on the engine of the cluster's kind. */
  readonly engines?: Readonly<Record<string, OpenEngine>>;
}

export async function startServer(
  config: Config,
  log: Logger,
  { clock = systemClock, engines = {} }: ServerOptions = {},
): Promise<RunningServer> {
  const parts = new StartedParts();
  try {
    const metrics = await parts.start(serverMetrics());
    const surroundings = {
      config,
      folder: new DataFolder(config.data.dataDir),
      log,
      clock,
      metrics,
      changes: new Changes(),
      beforeRivalExit: new Set<() => Promise<unknown>>(),
    };
    const prepared = await startStore(parts, surroundings);
    const publicUrl = new ServerUrl(config.listening.publicUrl);
    const machinery = await startMachinery(parts, surroundings, prepared, engines, publicUrl.read);
    const url = await startServing(parts, surroundings, machinery, publicUrl);
    return {
      url,
      store: prepared.store,
      engines: machinery.execution.engines,
      runners: machinery.runners,
      stop: () => parts.stop(),
    };
  } catch (error) {
    await parts.stop();
    throw error;
  }
}

const serverMetrics = (): Part<ServerMetrics> =>
  opened(
    async () => new ServerMetrics(),
    (metrics) => metrics.close(),
  );

/** Locks the data folder and the database, opens the store and prepares it. */
async function startStore(parts: StartedParts, surroundings: Surroundings): Promise<PreparedStore> {
  const { config, folder, metrics, changes } = surroundings;
  await parts.start(lockedFolder(folder));
  const location = folder.storeLocation(config.data);
  const lock = await parts.start(databaseLock(location, surroundings));
  const plain = await parts.start(database(location, lock));
  const timed = timedStore(plain, (seconds) => metrics.storeWrite.observe({}, seconds));
  const store = notedStore(timed, ({ team, kind, id }) => changes.note(team, kind, id));
  return preparedStore(store, surroundings);
}

/** Starts the HTTP server and the loops, and then accepts requests. Returns the server's URL. */
async function startServing(
  parts: StartedParts,
  { config, folder, log }: Surroundings,
  machinery: Machinery,
  url: ServerUrl,
): Promise<string> {
  const readiness = new Readiness();
  const wiring = {
    config,
    machinery,
    folder,
    exports: exportRules(config.exports),
    publicUrl: url.read,
    readiness,
  };
  const server = await parts.start(httpServer(httpContext(wiring)));
  await url.listensAt(server.address, folder.serverUrl);
  const { jobs, quotas } = config;
  await machinery.clusters.begin(clusterLoops({ machinery, jobs, quotas, publicUrl: url.read }));
  await parts.start(runningLoops(allLoops(wiring), log));
  await parts.start(closedBlobs(machinery.blobs));
  await parts.start(admission(readiness, server));
  return url.read();
}
