/**
 * What stands between a job and the machine: how its commands are started, and whom its files belong to. Three levels, each with the same interface; docs/security.md says what each promises.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { IsolationLevel, StoreView } from "../engine.ts";
import type { AttemptFolder } from "./attempt-folder.ts";
import { reveal } from "./reveal.ts";
import { infoDescriptor, type Sandbox } from "./sandbox.ts";
import { quote, words } from "./shell.ts";
import type { JobUsers, UserRange } from "./users.ts";

/** A command of an attempt, to be started inside. */
export interface Inside {
  readonly folder: AttemptFolder;
  /** More that it may read beside the system's own. */
  readonly readable: readonly string[];
  /** Shell words that may hold `$MILLRACE_VENV`: folders that it may write to beside its own. */
  readonly writable?: readonly string[];
  /** The team's store, where the command works with it. */
  readonly store?: StoreAccess | undefined;
  /** Shell words of the command. */
  readonly command: string;
}

/** A folder that several users share by its group. */
interface StoreAccess {
  readonly folder: string;
  readonly group: number | undefined;
}

export interface Isolation {
  readonly level: IsolationLevel;
  /** The user of a new attempt; undefined: the server's own. */
  takeUser(folder: AttemptFolder): number | undefined;
  /** A command in front of another that runs it with a job's rights, to see what jobs can reach; empty: they see what we see. */
  readonly asJob: readonly string[];
  /** Nothing of this user is left. */
  freeUser(uid: number, folder: AttemptFolder): void;
  /** Whether the attempt's user is its own still. */
  holdsUser(folder: AttemptFolder): boolean;
  /** Ends everything of the attempt's user at once; nothing where the user is not, or no more, the attempt's. */
  endUser(folder: AttemptFolder): Promise<void>;
  /** The job's temporary folder as the job knows it; undefined: the machine's. */
  temporary(folder: AttemptFolder): string | undefined;
  /** Shell lines that put the command into the place of the shell that runs them, in the attempt's folder. */
  enter(inside: Inside): string;
  /** Words in front of a command that give it this view and nothing else of the machine, as far as this level goes. */
  confine(view: StoreView): string[];
  /** A shell command that ends every process of the attempt's user, where the end of a phase does not. */
  evict(folder: AttemptFolder): string;
  close(): void;
}

export interface Programs {
  /** Absolute paths: a job's own PATH must not decide what starts it. */
  readonly env: string;
  readonly setsid: string;
  readonly setpriv: string | undefined;
}

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
  readonly asJob = [];
  readonly #programs: Programs;

  constructor(programs: Programs) {
    this.#programs = programs;
  }

  takeUser(): undefined {}
  freeUser(): void {}
  async endUser(): Promise<void> {}
  holdsUser(): boolean {
    return true;
  }
  temporary(): undefined {}
  close(): void {}
  confine(): string[] {
    return [];
  }
  evict(): string {
    return ":";
  }

  enter({ command }: Inside): string {
    return [
      "  cd ./work || exit",
      "  . ../input/env",
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
const becoming = (setpriv: string, uid: number, group?: number) => [
  setpriv,
  `--reuid=${uid}`,
  `--regid=${uid}`,
  group === undefined ? "--clear-groups" : `--groups=${group}`,
  "--no-new-privs",
  "--bounding-set=-all",
  "--inh-caps=-all",
];

/** One call, in which the kernel reaches every process of the user, whatever they fork meanwhile. */
const endEverything = "kill -KILL -1 2>/dev/null; true";

async function endUser({ programs, users }: UserOptions, folder: AttemptFolder): Promise<void> {
  const uid = folder.owner();
  if (!users.isHeldBy(uid, folder.key)) return;
  const [program = "", ...rest] = [...becoming(programs.setpriv, uid), "/bin/sh", "-c", endEverything];
  await promisify(execFile)(program, rest, { env: { PATH: "/usr/bin:/bin" } });
}

export interface UserOptions {
  readonly programs: Programs & { readonly setpriv: string };
  readonly users: JobUsers;
  readonly range: UserRange;
}

/** A user of its own for every running job. */
export class UserIsolation implements Isolation {
  readonly level = "uid";
  readonly #options: UserOptions;

  constructor(options: UserOptions) {
    this.#options = options;
  }

  get asJob(): string[] {
    const { programs, range } = this.#options;
    return becoming(programs.setpriv, range.last);
  }

  takeUser(folder: AttemptFolder): number {
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

  close(): void {
    this.#options.users.close();
  }

  evict(folder: AttemptFolder): string {
    // The limit on the user's processes must not keep out the one that ends them.
    const kill = words(...becoming(this.#options.programs.setpriv, folder.owner()), "/bin/sh", "-c", endEverything);
    return `(ulimit -p unlimited; exec ${kill}) 9>&-`;
  }

  confine({ group, readable }: StoreView): string[] {
    const { setpriv } = this.#options.programs;
    return group === undefined ? [] : [...reveal(readable), ...becoming(setpriv, group), setpriv, "--pdeathsig=KILL"];
  }

  enter({ folder, store, command }: Inside): string {
    const { programs } = this.#options;
    const inside = startInside("../input/env", command);
    const become = words(programs.setsid, ...becoming(programs.setpriv, folder.owner(), store?.group));
    return `  cd ./work || exit\n  exec ${defaults(programs)} ${become} ${inside}`;
  }
}

export interface SandboxIsolationOptions {
  readonly programs: Programs;
  readonly sandbox: Sandbox;
  /** Accounts that a job sees: files for this user. */
  readonly accounts: (uid: number) => { passwd: string; group: string };
  /** Where the server is root. */
  readonly users: UserOptions | undefined;
}

/** Namespaces of its own, in which little of the machine is to be seen; as a user of its own where the server is root. */
export class SandboxIsolation implements Isolation {
  readonly level = "bwrap";
  readonly asJob = [];
  readonly #options: SandboxIsolationOptions;

  constructor(options: SandboxIsolationOptions) {
    this.#options = options;
  }

  takeUser(folder: AttemptFolder): number | undefined {
    return this.#options.users?.users.take(folder.key);
  }

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

  close(): void {
    this.#options.users?.users.close();
  }

  evict(): string {
    return ":";
  }

  confine(view: StoreView): string[] {
    const { sandbox, users } = this.#options;
    const become = users && view.group !== undefined ? becoming(users.programs.setpriv, view.group) : [];
    return [...sandbox.storeWords(view), "--", ...become];
  }

  enter({ folder, readable, writable = [], store, command }: Inside): string {
    const { programs, sandbox, accounts, users } = this.#options;
    const uid = folder.owner();
    const shared = store ? [store.folder] : [];
    const view = words(...sandbox.words({ path: folder.path, ...accounts(uid), readable, shared }));
    const mounts =
      writable.length > 0
        ? writable.map((path) => `--bind ${path} ${path}`)
        : [`\${MILLRACE_VENV:+--ro-bind "$MILLRACE_VENV" "$MILLRACE_VENV"}`];
    const become = users ? `${words(...becoming(users.programs.setpriv, uid, store?.group))} ` : "";
    const inside = startInside(folder.file("input/env"), command);
    return [
      `  exec ${defaults(programs)} ${view} ${mounts.join(" ")} -- \\`,
      `    ${become}${inside} ${infoDescriptor}>${quote(folder.file("sandbox"))}`,
    ].join("\n");
  }
}
