/**
 * The functions behind the commands that run on the server's machine: serve, backup, restore, doctor, and
 * administration commands that open the store directly.
 */
import { access, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { type Logger, pino } from "pino";
import { takeBackup } from "./admin/backup/backup.ts";
import { dataPlace } from "./admin/backup/data-place.ts";
import type { Manifest } from "./admin/backup/format.ts";
import { type Restored, restoreBackup } from "./admin/backup/restore.ts";
import { type Verified, verifyBackup } from "./admin/backup/verify.ts";
import { keyFilePath, keyLocation } from "./admin/keys/key-file.ts";
import { type Rotation, rotateKey } from "./admin/keys/key-rotation.ts";
import { type RunningServer, startServer } from "./app/server.ts";
import type { Config } from "./configuration/config.ts";
import { connectClient, runScript } from "./datachain/client-commands.ts";
import { libraryName } from "./datachain/library.ts";
import { isUntouched, prepareStore } from "./domain/lifecycle/first-start.ts";
import { createSignInLink } from "./domain/people/sessions.ts";
import { type AdminTokenOptions, createAdminToken } from "./domain/people/tokens.ts";
import { setAdminPassword } from "./domain/people/users.ts";
import { systemClock } from "./domain/time/clock.ts";
import { openConfinement } from "./engines/local/isolation/open-confinement.ts";
import { DataFolder } from "./machine/data-folder.ts";
import { readFaults } from "./machine/faults.ts";
import { openLogSink } from "./machine/log-sink.ts";
import type { Store } from "./store/drivers/store.ts";
import { openStore } from "./store/opening/open-store.ts";
import { BackupWarehouses } from "./warehouses/backup-warehouses.ts";

export { diagnose, type Finding } from "./admin/doctor/doctor.ts";
export { type Config, type ConfigRow, configRows, readConfig } from "./configuration/config.ts";

/** Runs the server until SIGTERM or SIGINT. */
export async function serve(config: Config): Promise<void> {
  const log = pino({ level: config.logging.level, redact: secretFields }, openLogSink());
  endOnFaults(log);
  const server = await startServer(config, log);
  process.stdout.write(`Millrace is ready at ${server.url}\n`);
  process.stdout.write((await isUntouched(server.store)) ? await welcome(server) : hint);
  const signal = await stopSignal();
  log.info({ signal }, "stopping; running jobs continue");
  await server.stop();
  // Leaves two seconds for the last log lines; a stop does not wait longer for a reader of the log.
  setTimeout(() => process.exit(), lastLinesMs).unref();
}

const lastLinesMs = 2000;

/** Names of fields that the logger redacts. No log line should contain these fields, so this is only a safeguard. */
const secretFields = [
  "authorization",
  "cookie",
  "token",
  "password",
  "environment",
  "secret",
  "values",
  "dotenv",
].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/**
 * Exits on an uncaught error, because the state of the server is then unknown. Jobs continue, and a service manager
 * such as systemd restarts the server. Errors in writing to standard output and standard error are ignored: they only
 * mean that nobody reads the log.
 */
function endOnFaults(log: Logger): void {
  for (const stream of [process.stdout, process.stderr]) stream.removeAllListeners("error").on("error", () => {});
  process.on("uncaughtException", (error, origin) => {
    log.fatal({ err: error, origin }, "uncaught error; the server exits, running jobs continue");
    process.exit(1);
  });
}

function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => resolve(signal));
  });
}

async function welcome({ store, url }: RunningServer): Promise<string> {
  const link = await createSignInLink(store, "admin", systemClock.now());
  return `
Nobody has signed in yet. There is a user admin and a team main.

Sign in with a browser (the link works once):
  ${linkUrl(url, link)}

Point the ${libraryName} client at this server:
  ${connectClient(url)}

Then run something:
  ${runScript("script.py")}
`;
}

const hint = "To sign in, run `millrace admin link` (for a browser) or `millrace admin token` (for a token).\n";

const linkUrl = (url: string, secret: string) => `${url}/auth/sign-in?link=${secret}`;

/** Creates a token in the store. Works whether or not the server is running. */
export const adminToken = (config: Config, options: AdminTokenOptions): Promise<string> =>
  withStore(config, (store) => createAdminToken(store, options, systemClock.now()));

export const adminLink = (config: Config, { user = "admin" }: { user?: string | undefined }): Promise<string> =>
  withStore(config, async (store) => {
    const running = (await readFile(new DataFolder(config.data.dataDir).serverUrl, "utf8").catch(() => "")).trim();
    const { publicUrl, host, port } = config.listening;
    const url = publicUrl || running || `http://${host}:${port}`;
    return linkUrl(url, await createSignInLink(store, user, systemClock.now()));
  });

export const adminRotateKey = (config: Config): Promise<Rotation> =>
  withStore(config, (store) => rotateKey(keyLocation(config), store, readFaults(config.testing.fault)));

/** Sets the password of a user. The default is the user `admin`, which the first start of a server creates. */
export const adminPassword = (
  config: Config,
  { user = "admin", password }: { user?: string | undefined; password: string },
): Promise<void> => withStore(config, (store) => setAdminPassword(store, user, password, systemClock.now()));

type Progress = (text: string) => void;

/** Opens the warehouses for a backup. A child process reads them, isolated as MILLRACE_ISOLATION says. */
const openStores = async ({ localEngine, data }: Config, folder: DataFolder): Promise<BackupWarehouses> =>
  new BackupWarehouses(
    folder.warehouses,
    await openConfinement({ wanted: localEngine.isolation, folders: folder.engine }),
    data.diskFloor,
  );

/** Makes a backup. Works whether or not the server is running. */
export async function backup(
  config: Config,
  folder: string,
  { withKey, onProgress }: { withKey: boolean; onProgress: Progress },
): Promise<Manifest> {
  await requireStore(config);
  const keyFile = withKey ? keyFilePath(keyLocation(config)) : undefined;
  const place = await dataPlace(config);
  const stores = await openStores(config, place.folder);
  return takeBackup(place, resolve(folder), { keyFile, stores, onProgress, now: systemClock.now }).finally(() =>
    place.blobs.close(),
  );
}

export async function restore(
  config: Config,
  folder: string,
  options: { cancelQueued: boolean; onProgress: Progress },
): Promise<Restored> {
  const place = await dataPlace(config);
  const openHere = () => openStores(config, place.folder);
  const restoring = restoreBackup(place, resolve(folder), { ...options, openStores: openHere, now: systemClock.now });
  return restoring.finally(() => place.blobs.close());
}

/** Verifies a backup. Needs no server and no data folder. */
export const verify = (
  config: Config,
  folder: string,
  { workDir = tmpdir(), onProgress }: { workDir?: string | undefined; onProgress: Progress },
): Promise<Verified> =>
  verifyBackup(resolve(folder), {
    workDir: resolve(workDir),
    openStores: (data) => openStores(config, data),
    onProgress,
    now: systemClock.now,
  });

/**
 * Runs `work` with the opened store. Throws if there is no store yet, instead of creating one that no server would use.
 */
async function withStore<T>(config: Config, work: (store: Store) => Promise<T>): Promise<T> {
  await requireStore(config);
  const store = await openStore(new DataFolder(config.data.dataDir).storeLocation(config.data));
  try {
    await prepareStore(store, systemClock.now());
    return await work(store);
  } finally {
    await store.close();
  }
}

async function requireStore({ data }: Config): Promise<void> {
  const { dataDir, databaseUrl } = data;
  const file = new DataFolder(dataDir).storeFile;
  if (
    !databaseUrl &&
    !(await access(file).then(
      () => true,
      () => false,
    ))
  ) {
    throw new Error(
      `There is no database in ${dataDir}. A server creates it at its first start, so this is probably not the data folder of your server. Run this command in the folder where the server was started, or pass --data-dir.`,
    );
  }
}
