/**
 * What stands between a job and the machine: how its commands are started, and whom its files belong to. Three levels, each with the same interface; docs/security.md says what each promises.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { IsolationLevel } from "../../engine.ts";
import type { WarehouseView } from "../../warehouse-view.ts";
import type { AttemptFolder } from "../attempt/attempt-folder.ts";
import { quote, words } from "../processes/shell.ts";
import { reveal } from "./reveal.ts";
import { filterDescriptor, infoDescriptor, type Sandbox } from "./sandbox.ts";
import type { SharedPlaces } from "./shared-places.ts";
import type { JobUsers, UserRange } from "./users.ts";

/** A command of an attempt, to be started inside. */
export interface Inside {
  readonly folder: AttemptFolder;
  /** More that it may read beside the system's own. */
  readonly readable: readonly string[];
  /**
   * The environment $MILLRACE_VENV is being built: with the operator's variables only, and temporary folders of its own. In the folder
   * `files`, with nothing of the job's in sight; or in its working folder, where what is built is the job's alone.
   */
  readonly building?: "files" | "work";
  /** A shell word: a folder that it may write to while it builds, instead of the environment alone. */
  readonly writable?: string;
  /** Who runs it, if not the attempt's user. */
  readonly user?: number | undefined;
  /** A shell word: a folder of programs that are the server's own. */
  readonly programs?: string | undefined;
  /** The team's warehouse, where the command works with it. */
  readonly store?: WarehouseAccess | undefined;
  /** Shell words of the command. */
  readonly command: string;
}

/** A folder that several users share by its group. */
interface WarehouseAccess {
  readonly folder: string;
  readonly group: number | undefined;
}

export interface Isolation {
  readonly level: IsolationLevel;
  /** What the operator should know though it works. */
  readonly warnings: readonly string[];
  /** The user of a new attempt; undefined: the server's own. */
  takeUser(folder: AttemptFolder): Promise<number | undefined>;
  /** A command in front of another that runs it with a job's rights, to see what jobs can reach; empty: they see what we see. */
  readonly asJob: readonly string[];
  /** Words in front of the program that starts all jobs. */
  readonly startWith: readonly string[];
  /** Removes what the attempt's user left in places that all share; throws where something stays. */
  clearUser(folder: AttemptFolder): Promise<void>;
  /** Nothing of this user is left. */
  freeUser(uid: number, folder: AttemptFolder): void;
  /** Whether the attempt's user is its own still. */
  holdsUser(folder: AttemptFolder): boolean;
  /** Ends everything of the attempt's user at once; nothing where the user is not, or no more, the attempt's. */
  endUser(folder: AttemptFolder): Promise<void>;
  /** The job's temporary folder as the job knows it; undefined: the machine's. */
  temporary(folder: AttemptFolder): string | undefined;
  /** The same while its environment is built. */
  buildTemporary(folder: AttemptFolder): string;
  /** Shell lines that put the command into the place of the shell that runs them, in the attempt's folder. */
  enter(inside: Inside): string;
  /** Words in front of a command that give it this view and nothing else of the machine, as far as this level goes. */
  confine(view: WarehouseView): string[];
  /** Ends whatever a command that was confined to this view left behind, where its end does not. */
  endConfined(view: WarehouseView): Promise<void>;
  /** A shell command that ends every process of the attempt's user, where the end of a phase does not. */
  evict(folder: AttemptFolder): string;
  close(): void;
}

export interface Programs {
  /** Absolute paths: a job's own PATH must not decide what starts it. */
  readonly env: string;
  readonly setsid: string;
  readonly setpriv: string | undefined;
  readonly prlimit: string | undefined;
  readonly ipcrm: string | undefined;
  readonly find: string | undefined;
}

/** Where a command runs, in the attempt's folder; where its variables are there; and the way back from the one to the other. */
const placeOf = (building: Inside["building"]) => ({
  cwd: building === "files" ? "build/files" : "work",
  environment: building === undefined ? "input/env" : "build/env",
  back: building === "files" ? "../.." : "..",
});

/**
 * A background child of a shell has INT and QUIT ignored, and a shell cannot undo that for itself; `env` can. A session
 * of its own keeps the supervisor out of whatever the job signals.
 */
const defaults = ({ env }: Programs) => words(env, "--default-signal=INT,QUIT");

/** In a virtualenv its programs come first. */
const activate = "VIRTUAL_ENV=$MILLRACE_VENV PATH=$MILLRACE_VENV/bin:$PATH; export VIRTUAL_ENV PATH";

/** Own session, clean environment, nothing else: the job is the server's user. */
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
  async endUser(): Promise<void> {}
  holdsUser(): boolean {
    return true;
  }
  temporary(): undefined {}
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
 * The job's variables are set inside, by a shell that has the job's rights already: one such as LD_PRELOAD must not
 * reach the programs that take the rights away.
 */
const start = `. "$1"; MILLRACE_VENV=$2; shift 2; [ -z "$MILLRACE_VENV" ] || { ${activate}; }; exec "$@"`;
const startInside = (environment: string, command: string) =>
  `/bin/sh -c ${quote(start)} sh ${quote(environment)} "$MILLRACE_VENV" ${command}`;

/** From root to a user that has no rights and can get none back. */
export const becoming = (setpriv: string, uid: number, group?: number) => [
  setpriv,
  `--reuid=${uid}`,
  `--regid=${uid}`,
  group === undefined ? "--clear-groups" : `--groups=${group}`,
  "--no-new-privs",
  "--bounding-set=-all",
  "--inh-caps=-all",
];

export const confineToUser = (setpriv: string, { group, readable }: WarehouseView): string[] =>
  group === undefined ? [] : [...reveal(readable), ...becoming(setpriv, group), setpriv, "--pdeathsig=KILL"];

export const confineToSandbox = (sandbox: Sandbox, setpriv: string | undefined, view: WarehouseView): string[] => [
  ...sandbox.storeWords(view),
  "--",
  ...(setpriv !== undefined && view.group !== undefined ? becoming(setpriv, view.group) : []),
];

/** One call, in which the kernel reaches every process of the user, whatever they fork meanwhile. */
const endEverything = "kill -KILL -1 2>/dev/null; true";

async function endAllOf(setpriv: string, uid: number): Promise<void> {
  const [program = "", ...rest] = [...becoming(setpriv, uid), "/bin/sh", "-c", endEverything];
  await promisify(execFile)(program, rest, { env: { PATH: "/usr/bin:/bin" } });
}

async function endUser({ programs, users }: UserOptions, folder: AttemptFolder): Promise<void> {
  const uid = folder.owner();
  if (users.isHeldBy(uid, folder.key)) await endAllOf(programs.setpriv, uid);
}

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

/** A user of its own for every running job. */
export class UserIsolation implements Isolation {
  readonly level = "uid";
  readonly #options: UserIsolationOptions;

  constructor(options: UserIsolationOptions) {
    this.#options = options;
  }

  /** Queues of messages outlive their maker, and cannot be listed where their file system is not mounted: there are none. */
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

  holdsUser(folder: AttemptFolder): boolean {
    return this.#options.users.isHeldBy(folder.owner(), folder.key);
  }

  endUser(folder: AttemptFolder): Promise<void> {
    return endUser(this.#options, folder);
  }

  temporary(folder: AttemptFolder): string {
    return folder.file("tmp");
  }

  buildTemporary(folder: AttemptFolder): string {
    return folder.file("build/tmp");
  }

  close(): void {
    this.#options.users.close();
  }

  evict(folder: AttemptFolder): string {
    // The limit on the user's processes must not keep out the one that ends them.
    const kill = words(...becoming(this.#options.programs.setpriv, folder.owner()), "/bin/sh", "-c", endEverything);
    return `(ulimit -p unlimited 2>/dev/null; exec ${kill}) 9>&-`;
  }

  confine(view: WarehouseView): string[] {
    return confineToUser(this.#options.programs.setpriv, view);
  }

  async endConfined({ group }: WarehouseView): Promise<void> {
    if (group !== undefined) await endAllOf(this.#options.programs.setpriv, group);
  }

  enter({ folder, building, user, store, command }: Inside): string {
    const { programs } = this.#options;
    const { cwd, environment, back } = placeOf(building);
    const inside = startInside(`${back}/${environment}`, command);
    const become = words(programs.setsid, ...becoming(programs.setpriv, user ?? folder.owner(), store?.group));
    return `  cd ./${cwd} || exit\n  exec ${defaults(programs)} ${become} ${inside}`;
  }
}

export interface SandboxIsolationOptions {
  readonly programs: Programs;
  readonly sandbox: Sandbox;
  /** Accounts that a job sees: files for this user. */
  readonly accounts: (uid: number) => { passwd: string; group: string };
  /** A file with the filter of system calls; undefined: we have none for this processor. */
  readonly filter: string | undefined;
  /** Where the server is root. */
  readonly users: UserOptions | undefined;
}

/** Namespaces of its own, in which little of the machine is to be seen; as a user of its own where the server is root. */
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

  /** A sandbox has temporary folders and IPC of its own, and they end with it. */
  async clearUser(): Promise<void> {}

  freeUser(uid: number, folder: AttemptFolder): void {
    this.#options.users?.users.give(uid, folder.key);
  }

  holdsUser(folder: AttemptFolder): boolean {
    return this.#options.users?.users.isHeldBy(folder.owner(), folder.key) ?? true;
  }

  async endUser(folder: AttemptFolder): Promise<void> {
    if (this.#options.users) await endUser(this.#options.users, folder);
  }

  temporary(): string {
    return "/tmp";
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

  /** Its namespace ends with its first process. */
  async endConfined(): Promise<void> {}

  enter({ folder, readable, building, writable, user, programs: tools, store, command }: Inside): string {
    const { programs, sandbox, accounts, users, filter } = this.#options;
    const uid = user ?? folder.owner();
    const shared = store ? [store.folder] : [];
    const { cwd, environment } = placeOf(building);
    const own = building === undefined ? ["work"] : building === "work" ? ["work", "build"] : ["build"];
    const tmp = building === undefined ? "tmp" : "build/tmp";
    const attempt = { path: folder.path, ...accounts(uid), readable, shared, own, cwd, tmp };
    const view = words(...sandbox.words(attempt, filter !== undefined));
    const how = building === undefined ? "--ro-bind" : "--bind";
    // The folder above it would otherwise be the maker's alone, and the job could not pass. A folder that holds it stands
    // for both: between two mounts no file can have two names.
    const venv = `\${MILLRACE_VENV:+--dir "\${MILLRACE_VENV%/*}" ${how} "$MILLRACE_VENV" "$MILLRACE_VENV"}`;
    const mount = writable === undefined ? venv : `--bind ${writable} ${writable}`;
    const shown = tools === undefined ? "" : `--ro-bind ${tools} ${tools} `;
    const become = users ? `${words(...becoming(users.programs.setpriv, uid, store?.group))} ` : "";
    const inside = startInside(folder.file(environment), command);
    const rules = filter === undefined ? "" : ` ${filterDescriptor}<${quote(filter)}`;
    return [
      `  exec ${defaults(programs)} ${view} ${shown}${mount} ${words(...sandbox.seal())} -- \\`,
      `    ${become}${inside} ${infoDescriptor}>${quote(folder.file("sandbox"))}${rules}`,
    ].join("\n");
  }
}
