/** Diagnoses the configuration and this machine. */
import { access, constants, stat } from "node:fs/promises";
import type { Config } from "../../configuration/config.ts";
import type { DataSettings } from "../../configuration/groups/data.ts";
import { limitsHere } from "../../configuration/groups/limits.ts";
import { inspectMachine, type MachineFacts } from "../../engines/local/inspect.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import { checkDisk, checkFileSystem, checkInodes, checkPermissions } from "./file-system.ts";
import type { Finding } from "./finding.ts";
import { checkStore } from "./store.ts";

export type { Finding } from "./finding.ts";

/** The settings that are checked. */
export type DoctorSettings = Pick<Config, "data" | "localEngine" | "limits" | "jobEnvironment">;

export const diagnose = async (config: DoctorSettings): Promise<Finding[]> =>
  (
    await Promise.all([
      checkRuntime(),
      checkDataFolder(config.data),
      checkFileSystem(config.data),
      checkPermissions(config.data),
      checkStore(config.data),
      checkDisk(config.data),
      checkInodes(config.data),
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

/**
 * Checks the data folder without creating or changing it. A folder that does not exist is created by the first start of
 * a server.
 */
async function checkDataFolder({ dataDir }: DataSettings): Promise<Finding> {
  const topic = "data folder";
  const found = await stat(dataDir).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error && found.code === "ENOENT")
    return {
      level: "warn",
      topic,
      message: `${dataDir} does not exist yet`,
      next: "the first start of the server creates it",
    };
  if (found instanceof Error || !found.isDirectory())
    return { level: "error", topic, message: `${dataDir} is not a folder`, next: "choose a folder with --data-dir" };
  try {
    await access(dataDir, constants.R_OK | constants.W_OK);
    return { level: "ok", topic, message: dataDir };
  } catch {
    const next = `choose another folder with --data-dir, or make this user the owner of ${dataDir}`;
    return { level: "error", topic, message: `this user cannot read and write ${dataDir}`, next };
  }
}

/** Checks what jobs need on this machine (programs, Python, isolation), as a start of the server does. */
async function checkJobs(config: DoctorSettings): Promise<Finding[]> {
  const facts = await inspectMachine({
    ...config.localEngine,
    foldersIn: (folder) => new DataFolder(folder).engine,
    wanted: config.localEngine.isolation,
    limits: limitsHere(config.limits),
    jobEnvironment: config.jobEnvironment,
  });
  return [programs(facts), python(facts), isolation(facts)];
}

function programs({ needed, wanted }: MachineFacts): Finding {
  const topic = "programs";
  const absent = (found: ReadonlyMap<string, boolean>) => [...found].filter(([, is]) => !is).map(([name]) => name);
  const missing = [...absent(needed), ...absent(wanted).filter((name) => name !== "uv")];
  const uv = wanted.get("uv") ? "uv builds virtualenvs" : "no uv: venv and pip build virtualenvs, which takes longer";
  if (missing.length === 0) return { level: "ok", topic, message: `setsid, env, flock and git are installed; ${uv}` };
  const fatal = absent(needed).length > 0;
  const message = `missing: ${missing.join(", ")}${fatal ? "" : " (jobs with a repository will fail)"}; ${uv}`;
  return { level: fatal ? "error" : "warn", topic, message, next: "install util-linux, coreutils and git" };
}

function python({ interpreters, hidden }: MachineFacts): Finding {
  const topic = "python";
  const versions = interpreters.map(({ version }) => version).join(", ");
  if (interpreters.length === 0) {
    const message = "no Python 3 found: PYTHON jobs will fail";
    return { level: "warn", topic, message, next: "install python3 and python3-venv" };
  }
  if (hidden.length === 0) return { level: "ok", topic, message: versions };
  const message = `${versions}; jobs cannot reach ${hidden.map(({ path }) => path).join(", ")}`;
  return {
    level: "warn",
    topic,
    message,
    next: "install Python below /usr or /opt, or give other users execute permission on every parent folder",
  };
}

function isolation({ isolation: found }: MachineFacts): Finding {
  const topic = "isolation";
  if (found instanceof Error)
    return { level: "error", topic, message: found.message, next: "set MILLRACE_ISOLATION to auto" };
  const { level, missing, warnings } = found;
  if (level === "bwrap") return { level: "ok", topic, message: "bwrap: each job runs in a sandbox" };
  if (level === "uid") {
    const message = `uid: each job runs as a separate user. ${[...missing, ...warnings].join(" ")}`;
    return { level: "ok", topic, message };
  }
  const message = `none: jobs run as the user of the server. ${missing.join(" ")}`;
  const next = "install bubblewrap, or admit only people whom you trust with this machine";
  return { level: "warn", topic, message, next };
}
