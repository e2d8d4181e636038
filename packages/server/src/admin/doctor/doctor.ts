/** Looks for what is wrong on this machine. */
import { access, constants, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { Config } from "../../configuration/config.ts";
import type { DataSettings } from "../../configuration/groups/data.ts";
import type { IsolationLevel } from "../../engines/engine.ts";
import { type Interpreter, Interpreters } from "../../engines/local/environments/interpreters.ts";
import { openIsolation } from "../../engines/local/isolation/open-isolation.ts";
import { findPrograms } from "../../engines/local/isolation/programs.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import { checkDisk, checkFileSystem, checkInodes, checkPermissions } from "./file-system.ts";
import type { Finding } from "./finding.ts";
import { checkStore } from "./store.ts";

export type { Finding } from "./finding.ts";

export const diagnose = async (config: Config): Promise<Finding[]> =>
  (
    await Promise.all([
      checkRuntime(),
      checkDataFolder(config.data),
      checkFileSystem(config.data),
      checkPermissions(config.data),
      checkStore(config.data),
      checkDisk(config.data),
      checkInodes(config.data),
      checkPrograms(config),
      checkJobs(config),
    ])
  ).flat();

async function checkRuntime(): Promise<Finding> {
  return {
    level: "ok",
    topic: "runtime",
    message: `Node ${process.versions.node}, ${process.platform} ${process.arch}`,
  };
}

/** Only looks: a folder that is not there yet is made by the first start. */
async function checkDataFolder({ dataDir }: DataSettings): Promise<Finding> {
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

async function checkPrograms({ jobEnvironment }: Config): Promise<Finding> {
  const topic = "programs";
  const path = `/usr/bin:/bin:${jobEnvironment["PATH"] ?? ""}`;
  const needed = ["setsid", "env", "flock"];
  const present = new Map<string, boolean>();
  for (const name of [...needed, "git", "uv"]) present.set(name, await isOnPath(name, path));
  const missing = [...present].filter(([name, found]) => !found && name !== "uv").map(([name]) => name);
  const uv = present.get("uv") ? "uv builds virtualenvs" : "no uv: venv and pip build virtualenvs, which takes longer";
  if (missing.length === 0) return { level: "ok", topic, message: `setsid, env, flock and git are there; ${uv}` };
  const fatal = missing.some((name) => needed.includes(name));
  const message = `missing: ${missing.join(", ")}${fatal ? "" : " (jobs with a repository will fail)"}; ${uv}`;
  return { level: fatal ? "error" : "warn", topic, message, next: "install util-linux, coreutils and git" };
}

async function isOnPath(name: string, path: string): Promise<boolean> {
  const looks = path.split(delimiter).map((folder) => access(join(folder, name), constants.X_OK));
  return Promise.any(looks).then(
    () => true,
    () => false,
  );
}

async function checkPython({ jobEnvironment }: Config, level: IsolationLevel | undefined): Promise<Finding> {
  const topic = "python";
  const found = await new Interpreters(jobEnvironment["PATH"] ?? "").list();
  const versions = found.map(({ version }) => version).join(", ");
  if (found.length === 0) {
    const message = "no Python 3 found: PYTHON jobs will fail";
    return { level: "warn", topic, message, next: "install python3 and python3-venv" };
  }
  // At level uid a job is another user, who must come to the interpreter on foot.
  const hidden = level === "uid" ? await hiddenFromOthers(found) : [];
  if (hidden.length === 0) return { level: "ok", topic, message: versions };
  const message = `${versions}; jobs cannot reach ${hidden.map(({ path }) => path).join(", ")}`;
  return { level: "warn", topic, message, next: "install Python below /usr or /opt, or open the folders above it" };
}

async function hiddenFromOthers(interpreters: readonly Interpreter[]): Promise<Interpreter[]> {
  const open = await Promise.all(interpreters.map(({ path }) => isOpenToOthers(path)));
  return interpreters.filter((_, index) => !open[index]);
}

/** It, and every folder above it. */
async function isOpenToOthers(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (!found || (found.mode & 0o001) === 0) return false;
  return path === dirname(path) || isOpenToOthers(dirname(path));
}

async function checkJobs(config: Config): Promise<Finding[]> {
  const { level, finding } = await checkIsolation(config);
  return [await checkPython(config, level), finding];
}

/** Tries the levels out in a folder of its own, as a start would. */
async function checkIsolation(config: Config): Promise<{ level?: IsolationLevel; finding: Finding }> {
  const { localEngine, limits, jobEnvironment } = config;
  const topic = "isolation";
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-doctor-"));
  try {
    const folders = new DataFolder(dataDir).engine;
    const options = {
      folders,
      wanted: localEngine.isolation,
      users: localEngine.users,
      jobPaths: localEngine.jobPaths,
      hidden: [],
      limits,
      jobEnvironment,
      countsMemory: true,
    };
    await mkdir(folders.jobs);
    const { isolation, missing } = await openIsolation(options, await findPrograms(jobEnvironment));
    isolation.close();
    const { level } = isolation;
    if (level === "bwrap") return { level, finding: { level: "ok", topic, message: "bwrap: each job in a sandbox" } };
    if (level === "uid") {
      const message = `uid: each job as a user of its own. ${[...missing, ...isolation.warnings].join(" ")}`;
      return { level, finding: { level: "ok", topic, message } };
    }
    const message = `none: jobs run as the user of the server. ${missing.join(" ")}`;
    const next = "install bubblewrap, or let only people in whom you trust with this machine";
    return { level, finding: { level: "warn", topic, message, next } };
  } catch (error) {
    const { message } = error as Error;
    return { finding: { level: "error", topic, message, next: "set MILLRACE_ISOLATION to auto" } };
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
