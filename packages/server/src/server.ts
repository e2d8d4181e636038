/** A running server: its parts wired together, started and stopped in order. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { refuseUnfinished } from "./backup/unfinished-restore.ts";
import type { Config } from "./config.ts";
import { Disk } from "./disk.ts";
import { type Clock, systemClock } from "./domain/clock.ts";
import { failForeignAttempts, prepareLocalCluster, prepareStore } from "./domain/first-start.ts";
import { Signals } from "./domain/signals.ts";
import { LocalEngine } from "./engines/local/local-engine.ts";
import { readBootId } from "./engines/local/processes.ts";
import { readFaults } from "./faults.ts";
import { buildApp } from "./http/app.ts";
import type { HttpContext } from "./http/context.ts";
import { RateLimit } from "./http/rate-limit.ts";
import { lockDatabase, lockDataFolder } from "./lock.ts";
import { dispatchJobs } from "./loops/dispatch-jobs.ts";
import { fireTasks } from "./loops/fire-tasks.ts";
import { startLoop } from "./loops/loop.ts";
import { observeJobs } from "./loops/observe-jobs.ts";
import { sweep } from "./loops/sweep.ts";
import { ServerMetrics } from "./metrics/server-metrics.ts";
import { openStore } from "./store/open-store.ts";
import type { Store } from "./store/store.ts";
import { timedStore } from "./store/timed-store.ts";

export interface RunningServer {
  readonly url: string;
  readonly store: Store;
  /** Finishes requests and loops; jobs go on. */
  stop(): Promise<void>;
}

export async function startServer(config: Config, log: Logger, clock: Clock = systemClock): Promise<RunningServer> {
  checkIsolation(config);
  await mkdir(config.dataDir, { recursive: true, mode: 0o700 });
  await refuseUnfinished(config.dataDir);
  const folderLock = lockDataFolder(config.dataDir);
  const metrics = new ServerMetrics();
  const store = timedStore(await openStore(config), (seconds) => metrics.storeWrite.observe({}, seconds));
  const databaseLock = config.databaseUrl ? await lockDatabase(config.databaseUrl, fatal(log)) : undefined;
  await prepareStore(store, clock.now());
  const serverId = await readServerId(config.dataDir);
  await failForeignAttempts(store, serverId, clock.now());
  const parts = await buildParts(config, log, clock, { store, metrics, serverId });
  await prepareLocalCluster(store, config.maxWorkers, parts.engine.capabilities.isolation);

  const app = await buildApp(parts.http);
  const address = await listen(app, config);
  const url = config.publicUrl || address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]");
  parts.setUrl(url);
  await writeFile(urlFile(config.dataDir), `${url}\n`);
  const stopLoops = parts.loops.map((loop) => startLoop(loop, log));
  parts.setReady(true);

  return {
    url,
    store,
    async stop() {
      parts.setReady(false);
      parts.stopping.abort();
      await app.close();
      await Promise.all(stopLoops.map((stop) => stop()));
      await parts.engine.close();
      metrics.close();
      await store.close();
      await databaseLock?.release();
      await folderLock.release();
    },
  };
}

interface Ground {
  readonly store: Store;
  readonly metrics: ServerMetrics;
  readonly serverId: string;
}

async function buildParts(config: Config, log: Logger, clock: Clock, { store, metrics, serverId }: Ground) {
  const signals = new Signals();
  const faults = readFaults(config.fault);
  const hints = new Set<string>();
  const bootId = config.bootId || (await readBootId());
  const engine = await LocalEngine.open({
    dataDir: config.dataDir,
    bootId,
    claimDelay: faults.claimDelay,
    jobEnvironment: config.jobEnvironment,
    onChange(key, what) {
      const notice = () => {
        hints.add(key);
        signals.observe.wake();
      };
      // A beginning can wait a moment: many scripts have ended by then, and their one write says it all.
      if (what === "end") notice();
      else setTimeout(notice, 25);
    },
  });
  const filesDir = join(config.dataDir, "files");
  const filePath = (blob: string) => join(filesDir, blob.slice(0, 2), blob);
  const stopping = new AbortController();
  let ready = false;
  let url = "";
  const disk = new Disk(config.dataDir, config.diskFloor, clock);
  const quotas = { running: config.teamRunning, queued: config.teamQueued };
  const shared = { config, store, engine, signals, clock, log, faults, filePath, metrics, disk, quotas };
  const http: HttpContext = {
    ...shared,
    version,
    timezone: config.timezone,
    jobPaths: config.jobPaths.map(({ path }) => path),
    publicUrl: () => url,
    ready: () => ready,
    stopping: stopping.signal,
    limits: {
      logins: new RateLimit(clock, config.loginRate, "sign-in attempts"),
      // The client asks every five seconds without end; an office of people may share one address.
      polls: new RateLimit(clock, config.loginRate * 20, "questions about device logins"),
      badTokens: new RateLimit(clock, config.loginRate * 4, "bad tokens"),
    },
  };
  const loops = [
    observeJobs({ ...shared, serverId, hints, cancelGrace: config.cancelGrace }),
    dispatchJobs({ ...shared, serverId, bootId }),
    fireTasks(shared),
    sweep({ ...shared, ...retention(config), filesDir, serverId }),
  ];
  const setReady = (value: boolean) => {
    ready = value;
  };
  const setUrl = (value: string) => {
    url = value;
  };
  return { engine, http, loops, stopping, setReady, setUrl };
}

const retention = ({ dataDir, unusedFileDays, logDays, envDays, auditDays }: Config) => ({
  jobsDir: join(dataDir, "jobs"),
  envsDir: join(dataDir, "envs"),
  unusedFileDays,
  logDays,
  envDays,
  auditDays,
});

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  version: string;
};

async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    throw Object.assign(new Error(`Port ${port} of ${host} is in use, perhaps by another Millrace`), {
      code: "EADDRINUSE",
    });
  }
}

/** Without its lock a server must not go on: another may have begun. Jobs do not mind. */
const fatal = (log: Logger) => (error: Error) => {
  log.fatal({ err: error }, "the lock on the database is lost; the server ends");
  process.exit(1);
};

/** Where the running server is reached: for commands that make links. */
export const urlFile = (dataDir: string) => join(dataDir, "server-url");

/** A level that is asked for by name and cannot be had is a refusal, never a silent step down. */
function checkIsolation({ isolation }: Config): void {
  if (isolation === "uid" || isolation === "bwrap") {
    throw new Error(
      `MILLRACE_ISOLATION=${isolation} comes in a later version; this one runs jobs at level none (auto or none).`,
    );
  }
}

/** Names the data folder: open attempts carry it, so that a server knows its own. */
async function readServerId(dataDir: string): Promise<string> {
  const path = join(dataDir, "server-id");
  const known = await readFile(path, "utf8").catch(() => "");
  if (known.trim()) return known.trim();
  const id = randomUUID();
  await writeFile(path, `${id}\n`, { mode: 0o600 });
  return id;
}
