/**
 * What jobs leave where everybody may write: files in temporary folders and in memory, and System V IPC. At the level
 * `uid` nothing but its owner ties it to its job, so it goes with the job, before anybody else gets that user.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { lstatSync } from "node:fs";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { removeSegments, segmentUsers } from "./segments.ts";
import type { UserRange } from "./users.ts";

export interface SharedPlacesOptions {
  readonly range: UserRange;
  /** Folders that may lie in these places and hold what jobs are to leave: the data folder, the operator's for jobs. */
  readonly kept: readonly string[];
  /** Absolute paths of programs. */
  readonly find: string;
  readonly ipcrm: string;
  /** Words in front of a command that run it as this user: then it can remove nothing of anybody else's. */
  readonly become: (uid: number) => readonly string[];
  readonly folders?: readonly string[];
}

const temporaryFolders = ["/tmp", "/var/tmp", "/dev/shm", "/run/lock"];

/** Somebody else may still be putting files into a folder of theirs, or move folders while we look. */
const removals = 3;

/** Something of these users stays. */
export class LeftBehind extends Error {
  readonly users: readonly number[];

  constructor(users: readonly number[], folders: readonly string[], why: string) {
    super(`What jobs of the users ${users.join(", ")} left in ${folders.join(", ")} cannot be removed: ${why}.`);
    this.users = users;
  }
}

interface Left {
  readonly users: ReadonlySet<number>;
  readonly why: string;
}

export class SharedPlaces {
  readonly #options: SharedPlacesOptions;
  readonly #folders: readonly string[];
  /** One pass at a time: each looks through everything. */
  #running: Promise<unknown> = Promise.resolve();
  /** Whoever comes while a pass runs joins the next. */
  #next: { readonly users: Set<number>; readonly left: Promise<Left> } | undefined;

  constructor(options: SharedPlacesOptions) {
    this.#options = options;
    const folders = options.folders ?? temporaryFolders;
    this.#folders = folders.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory());
  }

  /** Removes whatever these users own here; throws where something stays. None of their processes is left. */
  async clear(users: readonly number[]): Promise<void> {
    if (users.length === 0) return;
    const left = await this.#join(users);
    const own = users.filter((user) => left.users.has(user));
    if (own.length > 0) throw new LeftBehind(own, this.#folders, left.why);
  }

  /** Those of these users that own something here. */
  async owners(users: readonly number[]): Promise<Set<number>> {
    const asked = new Set(users);
    const found = (await segmentUsers()).intersection(asked);
    if (asked.size === found.size || this.#folders.length === 0) return found;
    const fault = await this.#find(asked, ["-printf", "%U\\n", "-false"], (user) => {
      found.add(Number(user));
      return found.size === asked.size;
    });
    if (fault !== undefined) throw new Error(`What jobs left in ${this.#folders.join(", ")} is not known: ${fault}`);
    return found;
  }

  #join(users: readonly number[]): Promise<Left> {
    if (!this.#next) {
      const waiting = new Set<number>();
      const left = this.#running.then(() => {
        this.#next = undefined;
        return this.#pass([...waiting]);
      });
      this.#next = { users: waiting, left };
      this.#running = left.catch(() => {});
    }
    for (const user of users) this.#next.users.add(user);
    return this.#next.left;
  }

  /** Where one user's things cannot be removed, the others are clean all the same. */
  async #pass(users: readonly number[]): Promise<Left> {
    let why = "they are made anew all the time";
    for (let attempt = 0; ; attempt++) {
      try {
        const left = await this.owners(users);
        if (left.size === 0 || attempt === removals) return { users: left, why };
        why = (await this.#remove(left)) ?? why;
      } catch (error) {
        if (attempt === removals) throw error;
      }
    }
  }

  /** Returns what went wrong; what it left is looked for afterwards. */
  async #remove(users: ReadonlySet<number>): Promise<string | undefined> {
    const { ipcrm, become } = this.#options;
    let why: string | undefined;
    await removeSegments([...users], ipcrm, become).catch((error: Error) => {
      why = error.message.trim();
    });
    if (this.#folders.length === 0) return why;
    // Seen from the folder that each lies in: no name on the way there can be exchanged for a link.
    const action = ["-prune", "-execdir", "rm", "-rf", "--one-file-system", "--", "{}", "+"];
    return (await this.#find(users, action)) ?? why;
  }

  /**
   * Follows no link and stays out of what no job can write to. The action is for what these users own; `until` gets the
   * lines that it prints and says when they are enough. Returns what kept it from looking at everything.
   */
  async #find(
    users: ReadonlySet<number>,
    action: readonly string[],
    until: (line: string) => boolean = () => false,
  ): Promise<string | undefined> {
    const { kept, range, find } = this.#options;
    const aside = kept.flatMap((path) => ["-path", path.replace(/[*?[\\]/g, "\\$&"), "-prune", "-o"]);
    const jobs = ["-uid", `+${range.first - 1}`, "-uid", `-${range.last + 1}`];
    const closed = ["-type", "d", "!", "-perm", "-0002", "!", "(", ...jobs, ")", "-prune"];
    const expression = [...aside, "(", ...ownedBy(users), ")", ...action, "-o", ...closed];
    const words = ["-P", ...this.#folders, "-ignore_readdir_race", "-xdev", "-mindepth", "1", ...expression];
    const env = { PATH: "/usr/bin:/bin", LC_ALL: "C" };
    const child = spawn(find, words, { env, cwd: "/", stdio: ["ignore", "pipe", "pipe"] });
    let fault: string | undefined;
    let explained = false;
    const [[status, signal], enough] = await Promise.all([
      once(child, "close"),
      readLines(child.stdout, (line) => until(line) && child.kill("SIGKILL")),
      readLines(child.stderr, (line) => {
        explained = true;
        if (isFault(line)) fault ??= line.slice(0, 500);
        return false;
      }),
    ]);
    if (enough || fault !== undefined) return fault;
    if (signal !== null) return `find was ended by ${signal}`;
    return status === 0 || explained ? undefined : `find ended with status ${status}`;
  }
}

const ownedBy = (users: ReadonlySet<number>) =>
  [...users].flatMap((user, index) => [...(index === 0 ? [] : ["-o"]), "-uid", String(user)]);

/** Whether `enough` said so of one. Where a program cannot be started there may be no stream. */
async function readLines(stream: Readable | undefined, enough: (line: string) => boolean): Promise<boolean> {
  if (!stream) return false;
  let isEnough = false;
  for await (const line of createInterface({ input: stream })) isEnough ||= enough(line);
  return isEnough;
}

/** What running jobs remove or exchange meanwhile is none, nor is a mount that keeps root out: jobs can make none here. */
const changed = /: (No such file or directory|Not a directory|Too many levels of symbolic links|Permission denied)$/;
const brokenOff = /^find: (failed to read file names|fts_read)/;
const isFault = (line: string) => brokenOff.test(line) || !changed.test(line);
