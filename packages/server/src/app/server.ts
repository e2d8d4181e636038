/** A running server: its parts wired together, started and stopped in order. */
import { randomUUID } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { refuseUnfinished } from "../admin/backup/unfinished-restore.ts";
import { keyFilePath, openKeys } from "../admin/keys/key-file.ts";
import type { Blobs } from "../blobs/blobs.ts";
import { claimBlobs, openBlobs } from "../blobs/open-blobs.ts";
import type { Config } from "../configuration/config.ts";
import { continueJobIds, prepareLocalCluster, prepareStore } from "../domain/lifecycle/first-start.ts";
import { endForeignAttempts } from "../domain/lifecycle/lost-attempts.ts";
import type { KeyRing } from "../domain/secrets/key-ring.ts";
import { type Clock, day, systemClock } from "../domain/time/clock.ts";
import { LocalEngine } from "../engines/local/local-engine.ts";
import { readBootId } from "../engines/local/processes/processes.ts";
import { WarehouseMeasures } from "../execution/measure-warehouses.ts";
import { buildApp } from "../http/app.ts";
import { Callers } from "../http/connections/callers.ts";
import { Connections } from "../http/connections/connections.ts";
import { GrowingDelays } from "../http/connections/growing-delays.ts";
import { isLoopback } from "../http/connections/hosts.ts";
import { isTrusted } from "../http/connections/proxies.ts";
import { RateLimit } from "../http/connections/rate-limit.ts";
import type { HttpContext } from "../http/requests/context.ts";
import { LogArchive } from "../job-logs/log-archive.ts";
import { archiveLogs } from "../loops/archive-logs.ts";
import { beginRetries } from "../loops/begin-retries.ts";
import { countUsage } from "../loops/count-usage.ts";
import { deliverEvents } from "../loops/deliver-events.ts";
import { dispatchJobs } from "../loops/dispatch-jobs.ts";
import { enforceLimits } from "../loops/enforce-limits.ts";
import { exportDatasets } from "../loops/export-datasets.ts";
import { fireSchedules } from "../loops/fire-schedules.ts";
import { fireTasks } from "../loops/fire-tasks.ts";
import { fireTriggers } from "../loops/fire-triggers.ts";
import { followAttempts } from "../loops/follow-attempts.ts";
import { keepEnvironments } from "../loops/keep-environments.ts";
import { copyWarehouses, tidyWarehouses } from "../loops/keep-warehouses.ts";
import { startLoop } from "../loops/loop.ts";
import { runBackfills } from "../loops/run-backfills.ts";
import { sweep } from "../loops/sweep.ts";
import { tellOverdue } from "../loops/tell-overdue.ts";
import { DataFolder } from "../machine/data-folder.ts";
import { Disk } from "../machine/disk.ts";
import { type Faults, readFaults } from "../machine/faults.ts";
import { lockDataFolder } from "../machine/lock.ts";
import { connectionsWithin, openFilesLimit } from "../machine/open-files.ts";
import { ServerMetrics } from "../metrics/server-metrics.ts";
import { mailSender } from "../senders/mail.ts";
import { webhookSender } from "../senders/webhook.ts";
import type { LockEvents } from "../store/drivers/database-lock.ts";
import type { Store } from "../store/drivers/store.ts";
import { timedStore } from "../store/drivers/timed-store.ts";
import { lockDatabase, openStore } from "../store/opening/open-store.ts";
import { hasAdministratorWithPassword } from "../store/queries/people/users.ts";
import { Signals } from "../turns/signals.ts";
import { version } from "../version.ts";
import { Warehouses } from "../warehouses/warehouses.ts";

export interface RunningServer {
  readonly url: string;
  readonly store: Store;
  /** Finishes requests and loops; jobs go on. */
  stop(): Promise<void>;
}

export async function startServer(config: Config, log: Logger, clock: Clock = systemClock): Promise<RunningServer> {
  const folder = new DataFolder(config.dataDir);
  await mkdir(folder.path, { recursive: true, mode: 0o700 });
  await refuseUnfinished(folder);
  const folderLock = lockDataFolder(folder);
  const location = folder.storeLocation(config);
  const metrics = new ServerMetrics();
  // In the order in which they were taken; given back from the last to the first.
  const taken: (() => unknown)[] = [() => folderLock.release(), () => metrics.close()];
  const release = async () => {
    for (const giveBack of taken.splice(0).reverse()) await giveBack();
  };
  try {
    const lock = await lockDatabase(location, lockEvents(log));
    taken.push(() => lock?.release());
    const opened = await openStore(location, undefined, lock);
    taken.push(() => opened.close());
    const store = timedStore(opened, (seconds) => metrics.storeWrite.observe({}, seconds));
    return await begin(config, log, clock, { folder, store, metrics, release });
  } catch (error) {
    await release();
    throw error;
  }
}

/** The store, open and locked; `release` gives it back. */
interface OpenedStore {
  readonly folder: DataFolder;
  readonly store: Store;
  readonly metrics: ServerMetrics;
  release(): Promise<void>;
}

/** What the parts of a server are built on. */
interface Foundation extends OpenedStore {
  readonly keys: KeyRing;
  readonly serverId: string;
  readonly blobs: Blobs;
}

async function begin(config: Config, log: Logger, clock: Clock, opened: OpenedStore): Promise<RunningServer> {
  const { folder, store, release } = opened;
  const keys = await openKeys(config, store, (error) => log.error({ err: error }, "the key file cannot be used"));
  // Last: what an older version left in clear is encrypted by now, and the log was cut short for that.
  await store.reserve();
  await prepareStore(store, clock.now());
  await continueJobIds(store);
  await requireAdministrator(config, store);
  const serverId = await readServerId(folder.serverId);
  await endForeignAttempts(store, serverId, clock.now());
  const blobs = await openBlobs(folder.blobs(config));
  await claimBlobs(blobs, folder.blobs(config), serverId);
  const parts = await buildParts(config, log, clock, { ...opened, keys, serverId, blobs });
  await prepareLocalCluster(store, config.maxWorkers, parts.engine.capabilities.isolation);

  const app = await buildApp(parts.http);
  parts.http.connections.guard(app.server, log);
  const address = await listen(app, config);
  const url = config.publicUrl || address.replace("0.0.0.0", "127.0.0.1").replace("[::]", "[::1]");
  parts.setUrl(url);
  await writeFile(folder.serverUrl, `${url}\n`, { mode: 0o600 });
  const stopLoops = parts.loops.map((loop) => startLoop(loop, log));
  parts.setReady(true);

  return {
    url,
    store,
    async stop() {
      parts.setReady(false);
      parts.stopping.abort();
      await app.close();
      // What waits for the storage goes on after the next start.
      await blobs.close();
      await Promise.all(stopLoops.map((stop) => stop()));
      await parts.settled();
      await parts.engine.close();
      await release();
    },
  };
}

/** Other machines are let in only where somebody is there to let people in, and who is not known by a link alone. */
async function requireAdministrator({ host }: Config, store: Store): Promise<void> {
  if (isLoopback(host) || (await hasAdministratorWithPassword(store.db))) return;
  throw Object.assign(
    new Error(`Other machines could reach the service at ${host}, and no administrator has a password yet`),
    { next: "millrace admin password, with the same data folder or database; or leave out --host" },
  );
}

async function buildParts(config: Config, log: Logger, clock: Clock, foundation: Foundation) {
  const { folder, store, metrics, keys, serverId, blobs } = foundation;
  const signals = new Signals();
  const faults = readFaults(config.fault);
  const hints = new Set<string>();
  const bootId = config.bootId || (await readBootId());
  const engine = await LocalEngine.open({
    folders: folder.engine,
    isolation: config.isolation,
    uv: config.uv,
    users: config.jobUsers,
    jobPaths: config.jobPaths,
    hidden: [keyFilePath(config)],
    limits: {
      seconds: config.jobSeconds,
      memory: config.jobMemory,
      processes: config.jobProcesses,
      openFiles: config.jobOpenFiles,
      log: config.jobLog,
      disk: config.jobDisk,
    },
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
  const warehouses = new Warehouses(folder.warehouses, {
    confine: (view) => engine.confine(view),
    confineStrangers: (view) => engine.confineStrangers(view),
  });
  const collecting = new Map<string, Promise<void>>();
  const { isolation } = engine.capabilities;
  log.info({ isolation }, "jobs are isolated at this level");
  for (const warning of engine.warnings) log.warn(warning);
  for (const reason of engine.missing) log.warn(`a stronger isolation does not work here: ${reason}`);
  const archive = blobs.isLocal ? undefined : openArchive(folder, blobs, faults);
  const stopping = new AbortController();
  let ready = false;
  let url = "";
  const publicUrl = () => url;
  const disk = new Disk(folder.path, config.diskFloor, clock);
  const exports = exportRules(config);
  const quotas = {
    running: config.teamRunning,
    queued: config.teamQueued,
    tasks: config.teamTasks,
    schedules: config.teamSchedules,
    datasets: config.teamDatasets,
    uploads: config.teamUploads,
    logs: config.teamLogs,
    texts: config.teamTexts,
    exports: config.teamExports,
    environments: config.teamEnvironments,
  };
  const measures = new WarehouseMeasures({ store, engine, warehouses, serverId, quotas });
  const shared = {
    config,
    store,
    keys,
    engine,
    signals,
    clock,
    log,
    faults,
    blobs,
    archive,
    publicUrl,
    metrics,
    disk,
    quotas,
    warehouses,
    measures,
    exports,
  };
  const callers = new Callers(config.jobUsers);
  const http: HttpContext = {
    ...shared,
    version,
    timezone: config.timezone,
    jobPaths: config.jobPaths.map(({ path }) => path),
    ready: () => ready,
    connections: new Connections(connectionRules(config, callers)),
    stopping: stopping.signal,
    callers,
    limits: signInLimits(config, clock),
  };
  const deliveries = deliverEvents({ ...shared, ...telling(config), stopping: stopping.signal });
  const exporting = exportDatasets(shared);
  const dispatching = dispatchJobs({ ...shared, serverId, bootId, libraryVersion: config.libraryVersion });
  const loops = [
    deliveries,
    followAttempts({ ...shared, serverId, hints, collecting, cancelGrace: config.cancelGrace }),
    dispatching,
    enforceLimits({ ...shared, serverId }),
    beginRetries(shared),
    countUsage({ ...shared, ...retention(folder, config) }),
    keepEnvironments({ ...shared, ...retention(folder, config), serverId }),
    fireTasks(shared),
    copyWarehouses({ ...shared, ...warehouseKeeping(config) }),
    tidyWarehouses({ ...shared, ...warehouseKeeping(config) }),
    exporting,
    ...(archive ? [archiveLogs({ ...shared, archive, serverId })] : []),
    fireSchedules(shared),
    fireTriggers(shared),
    tellOverdue(shared),
    runBackfills(shared),
    sweep({ ...shared, ...retention(folder, config), serverId }),
  ];
  const setReady = (value: boolean) => {
    ready = value;
  };
  const setUrl = (value: string) => {
    url = value;
  };
  const settled = async () => {
    await Promise.all(collecting.values());
    await deliveries.settled();
    await exporting.settled();
    await dispatching.settled();
    warehouses.close();
  };
  return { engine, http, loops, stopping, settled, setReady, setUrl };
}

function signInLimits({ loginRate }: Config, clock: Clock): HttpContext["limits"] {
  const limit = (perMinute: number, what: string) => new RateLimit(clock, perMinute, what);
  return {
    logins: limit(loginRate, "sign-in attempts from here"),
    guesses: new GrowingDelays(clock, Math.ceil(loginRate / 3)),
    passwords: limit(Math.ceil(loginRate / 3), "passwords tried for this user"),
    devices: limit(loginRate, "device logins from here"),
    answers: limit(loginRate, "codes answered by this user"),
    secrets: limit(loginRate, "wrong links and codes from here"),
    // The client asks every five seconds without end, and may be asked to hurry.
    polls: limit(loginRate * 4, "questions about this device login"),
    // An office of people who wait for their device logins may share one address.
    strangers: limit(loginRate * 20, "requests without a token or session from here"),
    badTokens: limit(loginRate * 4, "bad tokens from this address"),
  };
}

/** One address has at most half of all connections, one user a quarter: somebody else must be able to come in. */
function connectionRules({ reservedFiles, addressConnections, requestSeconds, trustProxy }: Config, callers: Callers) {
  const total = connectionsWithin(openFilesLimit(), reservedFiles);
  const trusts = isTrusted(trustProxy);
  return {
    total,
    perAddress: Math.min(addressConnections, Math.ceil(total / 2)),
    perUser: Math.ceil(total / 4),
    seconds: requestSeconds,
    callers,
    isProxy: (address: string) => trusts(address, 0),
  };
}

const warehouseKeeping = ({ warehouseCopies, warehouseTidyHours, warehousePauseDays }: Config) => ({
  warehouseCopies,
  warehouseTidyHours,
  warehousePauseDays,
});

const retention = (
  { jobs: jobsDir, environments: envsDir }: DataFolder,
  { unusedFileDays, logDays, envDays, auditDays, warehouseReplacedDays, deliveryDays }: Config,
) => ({
  jobsDir,
  envsDir,
  unusedFileDays,
  logDays,
  envDays,
  auditDays,
  warehouseReplacedDays,
  deliveryDays,
});

/** How what happens is told. */
const telling = ({ webhookSeconds, webhookRetry, webhookNetworks, smtpUrl, smtpFrom, smtpSeconds }: Config) => ({
  webhookSeconds,
  smtpSeconds,
  webhookRetry,
  sendWebhook: webhookSender({ networks: webhookNetworks, seconds: webhookSeconds, version }),
  sendMail: mailSender({ smtpUrl, from: smtpFrom, seconds: smtpSeconds }),
});

const openArchive = (folder: DataFolder, blobs: Blobs, faults: Faults) =>
  new LogArchive(
    blobs,
    (key) => folder.attemptFile(key, "log"),
    () => faults.pass("log-stored"),
  );

const exportRules = ({ exportRows, exportHours }: Config) => ({
  rowsPerFile: exportRows,
  life: (exportHours * day) / 24,
});

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

/** One line when the database goes away and one when it is back, however long that takes and whoever asks meanwhile. */
const lockEvents = (log: Logger): LockEvents => ({
  onWaiting: ({ message }) => log.warn({ why: message }, "the database cannot be reached yet; the start waits for it"),
  onLost: ({ message }) =>
    log.warn({ why: message }, "the database cannot be reached; requests are answered with 503, jobs go on"),
  onBack: (seconds) => log.info({ seconds: Math.round(seconds * 10) / 10 }, "the database is back"),
  // Its jobs go on; the other server must not find us writing beside it.
  onRival(error) {
    log.fatal({ err: error }, "another server has the lock on the database; this one ends");
    process.exit(1);
  },
});

/** Names the data folder: open attempts carry it, so that a server knows its own. */
async function readServerId(path: string): Promise<string> {
  const known = await readFile(path, "utf8").catch(() => "");
  if (known.trim()) return known.trim();
  const id = randomUUID();
  await writeFile(path, `${id}\n`, { mode: 0o600 });
  return id;
}
