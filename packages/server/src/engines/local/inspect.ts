/** Finds out whether this machine can run jobs, without running a job. */
import { access, constants, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import type { IsolationLevel } from "../engine.ts";
import type { EngineFolders } from "./engine-folders.ts";
import { type Interpreter, Interpreters } from "./environments/interpreters.ts";
import { type IsolationOptions, openIsolation } from "./isolation/open-isolation.ts";
import { findPrograms } from "./isolation/programs.ts";

export interface MachineFacts {
  /** Programs that every job needs, and whether each is installed. */
  readonly needed: ReadonlyMap<string, boolean>;
  /** Programs that only some jobs need, and whether each is installed. */
  readonly wanted: ReadonlyMap<string, boolean>;
  readonly interpreters: readonly Interpreter[];
  /** Interpreters that jobs cannot execute at this isolation level. */
  readonly hidden: readonly Interpreter[];
  /** The isolation level that a server would choose at its start, or the error with which its start would fail. */
  readonly isolation: IsolationFacts | Error;
}

interface IsolationFacts {
  readonly level: IsolationLevel;
  /** For each isolation level that is stronger than the chosen one, the reason why it does not work on this machine. */
  readonly missing: readonly string[];
  readonly warnings: readonly string[];
}

interface InspectOptions extends Omit<IsolationOptions, "folders" | "hidden" | "countsMemory"> {
  /** Returns the engine's folders for a data folder. */
  readonly foldersIn: (dataDir: string) => EngineFolders;
}

export async function inspectMachine(options: InspectOptions): Promise<MachineFacts> {
  const path = options.jobEnvironment["PATH"] ?? "";
  const isolation = await inspectIsolation(options);
  const interpreters = await new Interpreters(path).list();
  // At level uid a job runs as another user, which needs execute permission on every parent folder of the interpreter.
  const isUid = !(isolation instanceof Error) && isolation.level === "uid";
  return {
    needed: await whichAreThere(["setsid", "env", "flock"], path),
    wanted: await whichAreThere(["git", "uv"], path),
    interpreters,
    hidden: isUid ? await hiddenFromOthers(interpreters) : [],
    isolation,
  };
}

async function whichAreThere(names: readonly string[], path: string): Promise<Map<string, boolean>> {
  const folders = `/usr/bin:/bin:${path}`.split(delimiter);
  const isThere = (name: string) =>
    Promise.any(folders.map((folder) => access(join(folder, name), constants.X_OK))).then(
      () => true,
      () => false,
    );
  return new Map(await Promise.all(names.map(async (name) => [name, await isThere(name)] as const)));
}

async function hiddenFromOthers(interpreters: readonly Interpreter[]): Promise<Interpreter[]> {
  const open = await Promise.all(interpreters.map(({ path }) => isOpenToOthers(path)));
  return interpreters.filter((_, index) => !open[index]);
}

/** Whether other users have execute permission on a file and on all its parent folders. */
async function isOpenToOthers(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (!found || (found.mode & 0o001) === 0) return false;
  return path === dirname(path) || isOpenToOthers(dirname(path));
}

/** Tries the isolation levels in a temporary data folder, as a server does at its start. */
async function inspectIsolation(options: InspectOptions): Promise<IsolationFacts | Error> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-doctor-"));
  try {
    const folders = options.foldersIn(dataDir);
    await mkdir(folders.jobs);
    const programs = await findPrograms(options.jobEnvironment);
    const opened = await openIsolation(
      { ...options, folders, hidden: [], countsMemory: true, isTemporary: true },
      programs,
    );
    opened.isolation.close();
    const { level, warnings } = opened.isolation;
    return { level, warnings, missing: opened.missing };
  } catch (error) {
    return error as Error;
  } finally {
    await rm(dataDir, { recursive: true, force: true });
  }
}
