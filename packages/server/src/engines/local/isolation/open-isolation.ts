/** Opens the isolation level for jobs. It runs a test command to find out whether a level works on this machine. */
import { execFile } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { IsolationLevel } from "../../engine.ts";
import { AttemptFolder } from "../attempt/attempt-folder.ts";
import type { EngineFolders } from "../engine-folders.ts";
import { byFolder, ProcessSearch, signalAll } from "../processes/processes.ts";
import {
  becoming,
  type Isolation,
  NoIsolation,
  type Programs,
  SandboxIsolation,
  UserIsolation,
  type UserOptions,
} from "./isolation.ts";
import { isPassing, keepLevel, readKeptLevel, tryLevel } from "./kept-level.ts";
import { findProgram } from "./programs.ts";
import { closedFolder } from "./reveal.ts";
import { type JobPath, Sandbox } from "./sandbox.ts";
import { callFilter } from "./seccomp.ts";
import { LeftBehind, SharedPlaces } from "./shared-places.ts";
import { JobUsers, NoFreeUser, type UserRange } from "./users.ts";

export interface IsolationOptions {
  readonly wanted: IsolationLevel | "auto";
  readonly folders: EngineFolders;
  readonly users: UserRange;
  readonly jobPaths: readonly JobPath[];
  /** Paths of files that no job may read, not even a job that runs as the server's user. */
  readonly hidden: readonly string[];
  readonly jobEnvironment: Readonly<Record<string, string>>;
  readonly limits: { readonly memory: number };
  /** True if control groups count all memory of a job, or if a job's memory is not limited. */
  readonly countsMemory: boolean;
  /** Whether the data folder is deleted afterwards, so that nothing of it is left in the registry of user ids. */
  readonly isTemporary?: boolean;
}

export interface OpenedIsolation {
  readonly isolation: Isolation;
  /** For each isolation level that is stronger than the chosen one, the reason why it does not work on this machine. */
  readonly missing: readonly string[];
}

/**
 * Opens the requested isolation level or, for `auto`, the strongest level that works. Throws if a requested level does
 * not work, or if the level at which jobs ran last no longer works.
 */
export async function openIsolation(options: IsolationOptions, programs: Programs): Promise<OpenedIsolation> {
  const { wanted, folders, isTemporary } = options;
  if (wanted === "auto" || wanted === "bwrap") checkPaths(options);
  const kept = wanted === "auto" ? readKeptLevel(folders.isolation) : undefined;
  const opened = await openStrongest(options, programs, kept);
  if (!isTemporary) keepLevel(folders.isolation, opened.isolation.level);
  return opened;
}

/** Opens the strongest level that works. `kept` is the level at which jobs ran last; none below it is opened. */
async function openStrongest(
  options: IsolationOptions,
  programs: Programs,
  kept: IsolationLevel | undefined,
): Promise<OpenedIsolation> {
  const { wanted } = options;
  const missing: string[] = [];
  const levels = wanted === "auto" ? (["bwrap", "uid", "none"] as const) : ([wanted] as const);
  for (const level of levels) {
    try {
      return { isolation: await open(level, options, programs, level === kept), missing };
    } catch (error) {
      // The level itself works on this machine, so a temporary problem must not lead to a weaker level.
      if (error instanceof NoFreeUser || error instanceof CannotClear) throw error;
      const why = (error as Error).message;
      if (level === kept || isPassing(error)) throw new Error(noWeaker(level, why), { cause: error });
      missing.push(`${level}: ${why}`);
    }
  }
  throw new Error(`MILLRACE_ISOLATION=${wanted} does not work on this machine. ${missing.join(" ")}`);
}

const noWeaker = (level: IsolationLevel, why: string) =>
  `The isolation level ${level} does not work at the moment. ${why} The server does not start, because jobs would run with weaker isolation. Remove the cause and start the server again, or choose a weaker level with MILLRACE_ISOLATION.`;

/** Thrown if the server cannot find out which files earlier jobs left in shared folders. */
class CannotClear extends Error {}

const isRoot = process.getuid?.() === 0;

/** Opens a level. `hasWorked`: jobs ran at this level before, so that a full disk is no reason to doubt it. */
async function open(
  level: IsolationLevel,
  options: IsolationOptions,
  programs: Programs,
  hasWorked: boolean,
): Promise<Isolation> {
  if (level === "none") return new NoIsolation(programs);
  const isolation = level === "uid" ? await openUsers(options, programs) : await openSandbox(options, programs);
  try {
    if (!hasWorked || hasRoom(options.folders.root))
      await tryLevel(() => tryOut(isolation, options.folders.root), hasWorked);
    return isolation;
  } catch (error) {
    isolation.close();
    throw error;
  }
}

/** Whether the disk has room for the few files of a test command. On a full disk the command would hang. */
function hasRoom(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > 1024 * 1024;
}

async function openUsers(options: IsolationOptions, programs: Programs): Promise<Isolation> {
  if (!isRoot) throw new Error("The server must run as root to give each job its own user id.");
  const closed = closedFolder(realpathSync(options.folders.root));
  if (closed) {
    throw new Error(
      `Jobs cannot reach their folders: other users have no execute permission on ${closed}. Choose another folder with --data-dir, or run chmod o+x ${closed}.`,
    );
  }
  const [setpriv = "", prlimit = "", ipcrm = "", find = ""] = (["setpriv", "prlimit", "ipcrm", "find"] as const).map(
    (name) => needed(programs, name),
  );
  const { users: range, folders, jobPaths } = options;
  const kept = [realpathSync(folders.root), ...jobPaths.map(({ path }) => path)];
  const become = (uid: number) => becoming(setpriv, uid);
  const places = new SharedPlaces({ range, kept, become, ipcrm, find });
  // Do not take over a vanished server's user ids that still own files: nobody cleans up after the jobs of that server.
  const opened = userOptions(options, programs, (users) => places.owners(users));
  try {
    return new UserIsolation({ ...opened, prlimit, places, warnings: await clearFree(places, opened.users) });
  } catch (error) {
    opened.users.close();
    throw error;
  }
}

/**
 * Deletes files that unassigned user ids still own. If the files of an id cannot be deleted, the id is not used until
 * the next start. Returns warnings about these ids.
 */
async function clearFree(places: SharedPlaces, users: JobUsers): Promise<string[]> {
  try {
    await places.clear(users.free());
    return [];
  } catch (error) {
    const { message } = error as Error;
    if (!(error instanceof LeftBehind)) {
      throw new CannotClear(
        `Jobs cannot get their own user ids. ${message}. Remove the cause, then start the server again.`,
      );
    }
    users.withhold(error.users);
    return [`${message} The server does not use these user ids until you delete the files and restart the server.`];
  }
}

function needed(programs: Programs, name: "setpriv" | "prlimit" | "ipcrm" | "find"): string {
  const path = programs[name];
  const provider = name === "find" ? "findutils" : "util-linux";
  if (!path) throw new Error(`The program ${name} is missing. Install the package ${provider}.`);
  return path;
}

function userOptions(
  { users: range, folders, isTemporary }: IsolationOptions,
  programs: Programs,
  avoid?: (users: readonly number[]) => Promise<ReadonlySet<number>>,
): UserOptions {
  const setpriv = needed(programs, "setpriv");
  // A waiting interpreter that could not be killed keeps its user id, too.
  const inUse = new Map([folders.waiting, folders.jobs].flatMap((folder) => [...usersInUse(folder)]));
  const users = new JobUsers({ range, root: folders.root, inUse, avoid, isTemporary });
  return { programs: { ...programs, setpriv }, range, users };
}

/**
 * Returns the user ids that own working folders of attempts, with the keys of the attempts. The jobs are running, or
 * have ended and are not cleaned up yet.
 */
function usersInUse(jobs: string): Map<number, string> {
  if (!existsSync(jobs)) return new Map();
  return new Map(readdirSync(jobs).map((key) => [new AttemptFolder(jobs, key).owner(), key]));
}

async function openSandbox(options: IsolationOptions, programs: Programs): Promise<Isolation> {
  const bwrap = await findProgram("bwrap", "/usr/bin:/bin:/usr/local/bin");
  if (!bwrap) throw new Error("The program bwrap is missing. Install the package bubblewrap.");
  const { folders, jobPaths, hidden, jobEnvironment, limits, countsMemory } = options;
  const settingFiles = Object.entries(jobEnvironment)
    .filter(([name, value]) => value.startsWith("/") && !/^(PATH|.*_CACHE_DIR)$/.test(name))
    .map(([, value]) => value);
  const memory = (await takesSizes(bwrap)) ? limits.memory : 0;
  const sandbox = new Sandbox({ bwrap, folders, jobPaths, hidden, settingFiles, memory });
  const users = isRoot ? userOptions(options, programs) : undefined;
  const accounts = accountFiles(folders.accounts);
  return new SandboxIsolation({
    programs,
    sandbox,
    users,
    accounts,
    filter: filterFile(folders.accounts, countsMemory),
  });
}

/**
 * Whether bubblewrap can limit the size of a tmpfs. Versions before 0.7 cannot. With them, the content of a tmpfs still
 * counts as memory of the job, but has no limit of its own.
 */
const takesSizes = async (bwrap: string) => (await promisify(execFile)(bwrap, ["--help"])).stdout.includes("--size ");

/**
 * Writes the seccomp filter to a file, which bubblewrap reads with the server's rights before it starts the job's
 * command.
 */
function filterFile(accounts: string, countsMemory: boolean): string | undefined {
  const filter = callFilter(process.arch, countsMemory);
  if (!filter) return undefined;
  const path = join(accounts, "calls.bpf");
  writeAnew(path, filter, 0o600);
  return path;
}

/** Writes a file, unless it has this content already: so an existing file can be used on a full disk, too. */
function writeAnew(path: string, content: Uint8Array, mode: number): void {
  if (existsSync(path) && readFileSync(path).equals(content)) return;
  const draft = `${path}.${process.pid}`;
  try {
    writeFileSync(draft, content, { mode });
    chmodSync(draft, mode);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * MILLRACE_JOB_PATHS lists folders that jobs can access. Throws if jobs may write to a listed folder that contains
 * another listed folder or the data folder. A job could replace the mount point of the inner folder by a symbolic link.
 */
function checkPaths({ jobPaths, folders }: IsolationOptions): void {
  for (const { path } of jobPaths.filter(({ mode }) => mode === "rw")) {
    const inner = [folders.root, ...jobPaths.map((other) => other.path)].find((other) => other.startsWith(`${path}/`));
    if (inner) {
      throw new Error(
        `MILLRACE_JOB_PATHS: jobs may write to ${path}, which contains ${inner}. Choose folders that do not contain one another.`,
      );
    }
  }
}

/**
 * Returns a function that writes the passwd and group files for a user id, once per id. The files list the job's user
 * and the system users root and nobody.
 */
function accountFiles(folder: string) {
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  const written = new Map<number, { passwd: string; group: string }>();
  return (uid: number) => {
    let files = written.get(uid);
    if (!files) {
      files = { passwd: join(folder, `${uid}.passwd`), group: join(folder, `${uid}.group`) };
      const nobody = "nobody:x:65534:65534:nobody:/:/bin/false\n";
      const account = uid === 0 ? "" : `job:x:${uid}:${uid}:job:/tmp:/bin/sh\n`;
      const group = `root:x:0:\n${uid === 0 ? "" : `job:x:${uid}:\n`}nogroup:x:65534:\n`;
      writeAnew(files.passwd, Buffer.from(`root:x:0:0:root:/root:/bin/sh\n${account}${nobody}`), 0o644);
      writeAnew(files.group, Buffer.from(group), 0o644);
      written.set(uid, files);
    }
    return files;
  };
}

/** Runs a test command inside the isolation, exactly as for a job. Throws if it fails. */
async function tryOut(isolation: Isolation, root: string): Promise<void> {
  const folder = new AttemptFolder(root, `try-out.${process.pid}`);
  const uid = await isolation.takeUser(folder);
  try {
    folder.make();
    folder.makeInside(uid, true);
    folder.writeInput("env", "", uid);
    const lines = isolation.enter({ folder, readable: [], command: "/bin/sh -c 'test -w . && cat ../input/env'" });
    await promisify(execFile)("/bin/sh", ["-c", `MILLRACE_VENV=\n${lines}`], { cwd: folder.path, timeout: 20_000 });
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string };
    throw new Error(`A test command could not run at this isolation level: ${stderr?.trim() || message}`, {
      cause: error,
    });
  } finally {
    // On a full disk, a sandbox that failed to start waits for ever.
    signalAll((await new ProcessSearch().all(byFolder([folder.path]))).pids, "SIGKILL");
    await folder.remove();
    if (uid !== undefined) isolation.freeUser(uid, folder);
  }
}
