/**
 * Isolates jobs from the machine: it decides how their commands are started and which user owns their files. The three
 * isolation levels share one interface; docs/security.md says what each level guarantees.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { IsolationLevel } from "../../engine.ts";
import type { WarehouseView } from "../../warehouse-view.ts";
import type { AttemptFolder } from "../attempt/attempt-folder.ts";
import { quote, words } from "../processes/shell.ts";
import { reveal } from "./reveal.ts";
import { filterDescriptor, infoDescriptor, type Sandbox } from "./sandbox.ts";
import type { SharedPlaces } from "./shared-places.ts";
import type { JobUsers, UserRange } from "./users.ts";

/** A command of an attempt that runs inside the isolation. */
export interface Inside {
  readonly folder: AttemptFolder;
  /** Paths that the command may read in addition to the system's folders. */
  readonly readable: readonly string[];
  /**
   * Set if the command builds a virtualenv ($MILLRACE_VENV). The command then gets only the variables for builds, and
   * has its own temporary folders. With `files`, the command has no access to the job's files. With `work`, it runs in
   * the job's working folder, and no other job uses the virtualenv.
   */
  readonly building?: "files" | "work";
  /** Shell word for a folder that the build may write to besides the virtualenv; absent if there is none. */
  readonly writable?: string;
  /** Id of the user that runs the command; undefined for the attempt's user. */
  readonly user?: number | undefined;
  /** Shell word for a folder with programs of the server, such as its own uv. */
  readonly programs?: string | undefined;
  /** The team's warehouse, if the command uses it. */
  readonly store?: WarehouseAccess | undefined;
  /** Id of the group that may enter the folder of the team's virtualenvs; undefined if every user may. */
  readonly environments?: number | undefined;
  /** The command as quoted shell words. */
  readonly command: string;
}

/** The folder of a team's warehouse. The users of the team's jobs share it as members of `group`. */
interface WarehouseAccess {
  readonly folder: string;
  readonly group: number | undefined;
}

export interface Isolation {
  readonly level: IsolationLevel;
  /** Warnings for the operator about what this isolation level cannot do on this machine. */
  readonly warnings: readonly string[];
  /** Reserves a user id for a new attempt. Returns undefined if jobs run as the server's user. */
  takeUser(folder: AttemptFolder): Promise<number | undefined>;
  /**
   * Command prefix that runs a command with a job's rights, to test what jobs can access. Empty if jobs can access
   * everything that the server can access.
   */
  readonly asJob: readonly string[];
  /** Command prefix of the starter, the process that starts all jobs. */
  readonly startWith: readonly string[];
  /** Deletes what the attempt's user left in shared places such as /tmp. Throws if something cannot be deleted. */
  clearUser(folder: AttemptFolder): Promise<void>;
  /** Releases a user id. The caller makes sure that this user has no files or processes left. */
  freeUser(uid: number, folder: AttemptFolder): void;
  /** Passes the user id of a waiting interpreter on to an attempt. */
  handUser(from: AttemptFolder, to: AttemptFolder): void;
  /** Whether the attempt still owns its user id. */
  holdsUser(folder: AttemptFolder): boolean;
  /**
   * Kills all processes of the attempt's user at once. Does nothing if the attempt no longer owns its user id. Returns
   * false if it may not have reached all.
   */
  endUser(folder: AttemptFolder): Promise<boolean>;
  /**
   * Returns the job's temporary folder as the job sees it; undefined if the job uses the machine's temporary folder.
   */
  temporary(folder: AttemptFolder): string | undefined;
  /**
   * Returns the attempt's folder as the job sees it. In a sandbox it has the same path for every job, so that a sandbox
   * can be made before it is known which job will run in it.
   */
  place(folder: AttemptFolder): string;
  /** Returns the temporary folder for building the job's virtualenv, as the build sees it. */
  buildTemporary(folder: AttemptFolder): string;
  /** Returns shell lines that `exec` the command inside the isolation. They run in the attempt's folder. */
  enter(inside: Inside): string;
  /**
   * Returns a command prefix that lets a command access only the paths in `view`. How strictly depends on the level.
   */
  confine(view: WarehouseView): string[];
  /**
   * Kills processes that a confined command left behind. Does nothing at levels where all processes end with the
   * command.
   */
  endConfined(view: WarehouseView): Promise<void>;
  /**
   * Returns a shell command for the end of a phase. It kills all processes of the attempt's user, or does nothing at
   * levels that do not need this.
   */
  evict(folder: AttemptFolder): string;
  close(): void;
}

export interface Programs {
  /**
   * Path of `env`. All paths of this interface are absolute, because a job's own PATH must not decide which program
   * starts the job.
   */
  readonly env: string;
  /**
   * Path of `setsid`, which starts a new session. A job that signals its process group then does not reach the
   * supervisor.
   */
  readonly setsid: string;
  readonly setpriv: string | undefined;
  readonly prlimit: string | undefined;
  readonly ipcrm: string | undefined;
  readonly find: string | undefined;
}

/**
 * Returns the working folder of the command and the file with its environment variables, both relative to the attempt's
 * folder. `back` is the path from the working folder to the attempt's folder.
 */
const placeOf = (building: Inside["building"]) => ({
  cwd: building === "files" ? "build/files" : "work",
  environment: building === undefined ? "input/env" : "build/env",
  back: building === "files" ? "../.." : "..",
});

/**
 * Returns a command prefix with which a command can receive SIGINT and SIGQUIT. A shell starts background processes
 * with both signals ignored and cannot undo that; `env` can.
 */
const defaults = ({ env }: Programs) => words(env, "--default-signal=INT,QUIT");

/** Shell commands that activate the virtualenv, so that its programs come first on PATH. */
const activate = "VIRTUAL_ENV=$MILLRACE_VENV PATH=$MILLRACE_VENV/bin:$PATH; export VIRTUAL_ENV PATH";

/** The level `none`: jobs run as the server's user, with only their own session and their own environment variables. */
export class NoIsolation implements Isolation {
  readonly level = "none";
  readonly warnings = [];
  readonly asJob = [];
  readonly startWith = [];
  readonly #programs: Programs;

  constructor(programs: Programs) {
    this.#programs = programs;
  }

  async takeUser(): Promise<undefined> {}
  async clearUser(): Promise<void> {}
  freeUser(): void {}
  handUser(): void {}
  endUser = async (): Promise<boolean> => true;
  holdsUser(): boolean {
    return true;
  }
  temporary(): undefined {}
  place(folder: AttemptFolder): string {
    return folder.path;
  }
  buildTemporary(folder: AttemptFolder): string {
    return folder.file("build/tmp");
  }
  close(): void {}
  confine(): string[] {
    return [];
  }
  async endConfined(): Promise<void> {}
  evict(): string {
    return ":";
  }

  enter({ building, command }: Inside): string {
    const { cwd, environment, back } = placeOf(building);
    return [
      `  cd ./${cwd} || exit`,
      `  . ${back}/${environment}`,
      `  [ -z "$MILLRACE_VENV" ] || { ${activate}; }`,
      `  exec ${defaults(this.#programs)} ${quote(this.#programs.setsid)} ${command}`,
    ].join("\n");
  }
}

/**
 * Shell script that sets the job's variables. It runs only after the privileges were dropped, because the programs that
 * drop them must not see variables such as LD_PRELOAD.
 */
const start = `. "$1"; MILLRACE_VENV=$2; shift 2; [ -z "$MILLRACE_VENV" ] || { ${activate}; }; exec "$@"`;
const startInside = (environment: string, command: string) =>
  `/bin/sh -c ${quote(start)} sh ${quote(environment)} "$MILLRACE_VENV" ${command}`;

/** Returns a command prefix that switches from root to a user without privileges and without a way to regain them. */
export const becoming = (setpriv: string, uid: number, groups: readonly number[] = []) => [
  setpriv,
  `--reuid=${uid}`,
  `--regid=${uid}`,
  groups.length === 0 ? "--clear-groups" : `--groups=${groups.join(",")}`,
  "--no-new-privs",
  "--bounding-set=-all",
  "--inh-caps=-all",
];

export const confineToUser = (setpriv: string, { group, groups, readable }: WarehouseView): string[] =>
  group === undefined ? [] : [...reveal(readable), ...becoming(setpriv, group, groups), setpriv, "--pdeathsig=KILL"];

export const confineToSandbox = (sandbox: Sandbox, setpriv: string | undefined, view: WarehouseView): string[] => [
  ...sandbox.storeWords(view),
  "--",
  ...(setpriv !== undefined && view.group !== undefined ? becoming(setpriv, view.group, view.groups) : []),
];

/** Returns the groups of the team that a command needs. */
const groupsOf = ({ store, environments }: Inside): number[] =>
  [store?.group, environments].filter((group) => group !== undefined);

/** Shell command that kills all processes of the current user in one system call, so that none escapes by forking. */
const endEverything = "kill -KILL -1 2>/dev/null; true";

/**
 * Kills all processes of a user. Returns false if they were faster: the process that is to kill them has become one of
 * theirs before, so that they may kill it.
 */
async function endAllOf(setpriv: string, uid: number): Promise<boolean> {
  const [program = "", ...rest] = [...becoming(setpriv, uid), "/bin/sh", "-c", endEverything];
  try {
    await promisify(execFile)(program, rest, { env: { PATH: "/usr/bin:/bin" } });
    return true;
  } catch (error) {
    if ((error as { signal?: unknown }).signal === "SIGKILL") return false;
    throw error;
  }
}

async function endUser({ programs, users }: UserOptions, folder: AttemptFolder): Promise<boolean> {
  const uid = folder.owner();
  return users.isHeldBy(uid, folder.key) ? endAllOf(programs.setpriv, uid) : true;
}

/** Maximum number of tries to kill processes that kill whoever comes to do it. */
const mostTries = 50;

export interface UserOptions {
  readonly programs: Programs & { readonly setpriv: string };
  readonly users: JobUsers;
  readonly range: UserRange;
}

export interface UserIsolationOptions extends UserOptions {
  readonly prlimit: string;
  readonly places: SharedPlaces;
  readonly warnings: readonly string[];
}

/** The level `uid`: every running job has its own user id. */
export class UserIsolation implements Isolation {
  readonly level = "uid";
  readonly #options: UserIsolationOptions;

  constructor(options: UserIsolationOptions) {
    this.#options = options;
  }

  /**
   * Command prefix that forbids POSIX message queues. A message queue outlives the process that created it, and cannot
   * be found unless a file system for message queues is mounted.
   */
  get startWith(): string[] {
    return [this.#options.prlimit, "--msgqueue=0:0"];
  }

  async clearUser(folder: AttemptFolder): Promise<void> {
    if (this.holdsUser(folder)) await this.#options.places.clear([folder.owner()]);
  }

  get asJob(): string[] {
    const { programs, range } = this.#options;
    return becoming(programs.setpriv, range.last);
  }

  get warnings(): readonly string[] {
    return this.#options.warnings;
  }

  takeUser(folder: AttemptFolder): Promise<number> {
    return this.#options.users.take(folder.key);
  }

  freeUser(uid: number, folder: AttemptFolder): void {
    this.#options.users.give(uid, folder.key);
  }

  handUser(from: AttemptFolder, to: AttemptFolder): void {
    this.#options.users.hand(to.owner(), from.key, to.key);
  }

  holdsUser(folder: AttemptFolder): boolean {
    return this.#options.users.isHeldBy(folder.owner(), folder.key);
  }

  endUser(folder: AttemptFolder): Promise<boolean> {
    return endUser(this.#options, folder);
  }

  temporary(folder: AttemptFolder): string {
    return folder.file("tmp");
  }

  place(folder: AttemptFolder): string {
    return folder.path;
  }

  buildTemporary(folder: AttemptFolder): string {
    return folder.file("build/tmp");
  }

  close(): void {
    this.#options.users.close();
  }

  evict(folder: AttemptFolder): string {
    // Lift the process limit of the user, so that the killing process itself can start.
    const kill = words(...becoming(this.#options.programs.setpriv, folder.owner()), "/bin/sh", "-c", endEverything);
    return `(ulimit -p unlimited 2>/dev/null; exec ${kill}) 9>&-`;
  }

  confine(view: WarehouseView): string[] {
    return confineToUser(this.#options.programs.setpriv, view);
  }

  async endConfined({ group }: WarehouseView): Promise<void> {
    if (group === undefined) return;
    for (let tries = 0; tries < mostTries; tries++) if (await endAllOf(this.#options.programs.setpriv, group)) return;
  }

  enter(inside: Inside): string {
    const { folder, building, user, command } = inside;
    const { programs } = this.#options;
    const { cwd, environment, back } = placeOf(building);
    const started = startInside(`${back}/${environment}`, command);
    const becomes = becoming(programs.setpriv, user ?? folder.owner(), groupsOf(inside));
    return `  cd ./${cwd} || exit\n  exec ${defaults(programs)} ${words(programs.setsid, ...becomes)} ${started}`;
  }
}

export interface SandboxIsolationOptions {
  readonly programs: Programs;
  readonly sandbox: Sandbox;
  /** Returns the passwd and group files that a job with this user id sees. */
  readonly accounts: (uid: number) => { passwd: string; group: string };
  /** Path of the seccomp filter; undefined if there is none for this processor. */
  readonly filter: string | undefined;
  /** User ids for jobs; undefined if the server is not root. */
  readonly users: UserOptions | undefined;
}

/**
 * The level `bwrap`: each job runs in its own namespaces and sees little of the machine. If the server is root, each
 * job also has its own user id.
 */
export class SandboxIsolation implements Isolation {
  readonly level = "bwrap";
  readonly warnings = [];
  readonly asJob = [];
  readonly startWith = [];
  readonly #options: SandboxIsolationOptions;

  constructor(options: SandboxIsolationOptions) {
    this.#options = options;
  }

  async takeUser(folder: AttemptFolder): Promise<number | undefined> {
    return this.#options.users?.users.take(folder.key);
  }

  /** Does nothing: a sandbox has its own temporary folders and IPC objects, which are deleted when the sandbox ends. */
  async clearUser(): Promise<void> {}

  freeUser(uid: number, folder: AttemptFolder): void {
    this.#options.users?.users.give(uid, folder.key);
  }

  handUser(from: AttemptFolder, to: AttemptFolder): void {
    this.#options.users?.users.hand(to.owner(), from.key, to.key);
  }

  holdsUser(folder: AttemptFolder): boolean {
    return this.#options.users?.users.isHeldBy(folder.owner(), folder.key) ?? true;
  }

  async endUser(folder: AttemptFolder): Promise<boolean> {
    return this.#options.users ? endUser(this.#options.users, folder) : true;
  }

  temporary(): string {
    return "/tmp";
  }

  place(): string {
    return this.#options.sandbox.place;
  }

  buildTemporary(): string {
    return "/tmp";
  }

  close(): void {
    this.#options.users?.users.close();
  }

  evict(): string {
    return ":";
  }

  confine(view: WarehouseView): string[] {
    const { sandbox, users } = this.#options;
    return confineToSandbox(sandbox, users?.programs.setpriv, view);
  }

  /** Does nothing: when the first process of a sandbox ends, the kernel kills all others. */
  async endConfined(): Promise<void> {}

  enter(inside: Inside): string {
    const { folder, readable, building, writable, user, programs: tools, store, command } = inside;
    const { programs, sandbox, accounts, users, filter } = this.#options;
    const uid = user ?? folder.owner();
    const shared = store ? [store.folder] : [];
    const { cwd, environment } = placeOf(building);
    const own = building === undefined ? ["work"] : building === "work" ? ["work", "build"] : ["build"];
    const tmp = building === undefined ? "tmp" : "build/tmp";
    const attempt = { path: folder.path, ...accounts(uid), readable, shared, own, cwd, tmp };
    const view = words(...sandbox.words(attempt, filter !== undefined));
    const how = building === undefined ? "--ro-bind" : "--bind";
    // `--dir` creates the parents of the virtualenv with permissions that let the job traverse them. The folder
    // in `writable`, if set, contains the virtualenv and is the only mount: hard links do not work across two mounts.
    const venv = `\${MILLRACE_VENV:+--dir "\${MILLRACE_VENV%/*/*}" --dir "\${MILLRACE_VENV%/*}" ${how} "$MILLRACE_VENV" "$MILLRACE_VENV"}`;
    const mount = writable === undefined ? venv : `--bind ${writable} ${writable}`;
    const shown = tools === undefined ? "" : `--ro-bind ${tools} ${tools} `;
    const become = users ? `${words(...becoming(users.programs.setpriv, uid, groupsOf(inside)))} ` : "";
    const started = startInside(join(sandbox.place, environment), command);
    const rules = filter === undefined ? "" : ` ${filterDescriptor}<${quote(filter)}`;
    return [
      `  exec ${defaults(programs)} ${view} ${shown}${mount} ${words(...sandbox.seal())} -- \\`,
      `    ${become}${started} ${infoDescriptor}>${quote(folder.file("sandbox"))}${rules}`,
    ].join("\n");
  }
}
