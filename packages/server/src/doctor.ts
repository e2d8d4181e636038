/** Looks for what is wrong on this machine. */
import { access, constants, mkdir, mkdtemp, rm, stat, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Config } from "./config.ts";
import { Interpreters } from "./engines/local/interpreters.ts";
import { openIsolation } from "./engines/local/open-isolation.ts";
import { findPrograms } from "./engines/local/programs.ts";
import { storeFile } from "./store/open-store.ts";

export interface Finding {
  readonly level: "ok" | "warn" | "error";
  readonly topic: string;
  readonly message: string;
  /** What to do about it. */
  readonly next?: string;
}

export const diagnose = (config: Config): Promise<Finding[]> =>
  Promise.all([
    checkRuntime(),
    checkDataFolder(config),
    checkStore(config),
    checkDisk(config),
    checkPrograms(config),
    checkPython(config),
    checkIsolation(config),
  ]);

async function checkRuntime(): Promise<Finding> {
  return {
    level: "ok",
    topic: "runtime",
    message: `Node ${process.versions.node}, ${process.platform} ${process.arch}`,
  };
}

/** Only looks: a folder that is not there yet is made by the first start. */
async function checkDataFolder({ dataDir }: Config): Promise<Finding> {
  const topic = "data folder";
  const found = await stat(dataDir).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error && found.code === "ENOENT")
    return { level: "warn", topic, message: `${dataDir} is not there yet`, next: "it is made by the first start" };
  if (found instanceof Error || !found.isDirectory())
    return { level: "error", topic, message: `${dataDir} is no folder`, next: "choose a folder with --data-dir" };
  try {
    await access(dataDir, constants.R_OK | constants.W_OK);
    return { level: "ok", topic, message: dataDir };
  } catch {
    const next = "choose another with --data-dir, or change its owner";
    return { level: "error", topic, message: `${dataDir} cannot be read or written by this user`, next };
  }
}

async function checkStore({ databaseUrl, dataDir }: Config): Promise<Finding> {
  const topic = "store";
  try {
    if (databaseUrl) await reachDatabase(databaseUrl);
    else if (!(await stat(join(dataDir, storeFile)).catch(() => undefined))) {
      return { level: "ok", topic, message: "embedded SQLite, made by the first start" };
    }
    return { level: "ok", topic, message: databaseUrl ? "PostgreSQL" : "embedded SQLite" };
  } catch (error) {
    const message = `PostgreSQL does not answer: ${(error as Error).message}`;
    return { level: "error", topic, message, next: "check --database-url, or leave it out for the embedded store" };
  }
}

async function reachDatabase(databaseUrl: string): Promise<void> {
  const { default: pg } = await import("pg");
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: 5000 });
  await client.connect();
  await client.end();
}

async function checkDisk({ dataDir }: Config): Promise<Finding> {
  const { bavail, bsize } = await statfs(dataDir).catch(() => statfs("/"));
  const free = (bavail * bsize) / 1024 ** 3;
  const message = `${free.toFixed(1)} GiB free`;
  return free < 1
    ? { level: "warn", topic: "disk", message, next: "free some space: logs and uploads need it" }
    : { level: "ok", topic: "disk", message };
}

async function checkPrograms({ jobEnvironment }: Config): Promise<Finding> {
  const folders = `/usr/bin:/bin:${jobEnvironment["PATH"] ?? ""}`.split(delimiter);
  const missing: string[] = [];
  for (const name of ["setsid", "env", "flock", "git"]) {
    const found = await Promise.all(
      folders.map((folder) =>
        access(join(folder, name)).then(
          () => true,
          () => false,
        ),
      ),
    );
    if (!found.includes(true)) missing.push(name);
  }
  if (missing.length === 0) return { level: "ok", topic: "programs", message: "setsid, env, flock and git are there" };
  const fatal = missing.some((name) => name !== "git");
  return {
    level: fatal ? "error" : "warn",
    topic: "programs",
    message: `missing: ${missing.join(", ")}`,
    next: "install util-linux, coreutils and git",
  };
}

async function checkPython({ jobEnvironment }: Config): Promise<Finding> {
  const found = await new Interpreters(jobEnvironment["PATH"] ?? "").list();
  if (found.length > 0)
    return { level: "ok", topic: "python", message: found.map(({ version }) => version).join(", ") };
  return {
    level: "warn",
    topic: "python",
    message: "no Python 3 found: PYTHON jobs will fail",
    next: "install python3 and python3-venv",
  };
}

/** Tries the levels out in a folder of its own, as a start would. */
async function checkIsolation(config: Config): Promise<Finding> {
  const topic = "isolation";
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-doctor-"));
  try {
    const options = { ...config, dataDir, wanted: config.isolation, users: config.jobUsers, hidden: [] };
    await mkdir(join(dataDir, "jobs"));
    const { isolation, missing } = await openIsolation(options, await findPrograms(config.jobEnvironment));
    isolation.close();
    if (isolation.level === "bwrap") return { level: "ok", topic, message: "bwrap: each job in a sandbox" };
    if (isolation.level === "uid")
      return { level: "ok", topic, message: "uid: each job as a user of its own", next: missing.join(" ") };
    return {
      level: "warn",
      topic,
      message: `none: jobs run as the user of the server. ${missing.join(" ")}`,
      next: "install bubblewrap, or let only people in whom you trust with this machine",
    };
  } catch (error) {
    return { level: "error", topic, message: (error as Error).message, next: "set MILLRACE_ISOLATION to auto" };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
