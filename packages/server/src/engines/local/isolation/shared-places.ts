/**
 * Deletes what jobs leave in places that every user may write to: files in /tmp and /dev/shm, and System V IPC objects.
 * At the level `uid`, only the owner of a file or object shows which job left it. So everything that a user id owns is
 * deleted before another job gets that id.
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
  /**
   * Folders in which nothing is deleted, even if they are inside shared folders: the data folder and the operator's
   * folders for jobs.
   */
  readonly kept: readonly string[];
  /** Absolute path of the program `find`. */
  readonly find: string;
  /** Absolute path of the program `ipcrm`. */
  readonly ipcrm: string;
  /** Returns a command prefix that runs a command as this user. The command then cannot remove files of other users. */
  readonly become: (uid: number) => readonly string[];
  readonly folders?: readonly string[];
}

const temporaryFolders = ["/tmp", "/var/tmp", "/dev/shm", "/run/lock"];

/** A removal is tried at most this many times. Other processes may create or move files while it runs. */
const removals = 3;

/** Thrown if files or IPC objects of these users cannot be deleted. */
export class LeftBehind extends Error {
  readonly users: readonly number[];

  constructor(users: readonly number[], folders: readonly string[], why: string) {
    super(
      `Files that jobs with the user ids ${users.join(", ")} left in ${folders.join(", ")} cannot be removed: ${why}.`,
    );
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
  /** The removal that is running now. Only one runs at a time, because each removal reads all shared folders. */
  #running: Promise<unknown> = Promise.resolve();
  /** The removal that starts after the current one. It covers the users of all calls that arrive until then. */
  #next: { readonly users: Set<number>; readonly left: Promise<Left> } | undefined;

  constructor(options: SharedPlacesOptions) {
    this.#options = options;
    const folders = options.folders ?? temporaryFolders;
    this.#folders = folders.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory());
  }

  /**
   * Deletes everything that these users own in shared places. They must have no processes left. Throws if something
   * could not be deleted.
   */
  async clear(users: readonly number[]): Promise<void> {
    if (users.length === 0) return;
    const left = await this.#join(users);
    const own = users.filter((user) => left.users.has(user));
    if (own.length > 0) throw new LeftBehind(own, this.#folders, left.why);
  }

  /** Returns which of these users own files or IPC objects in shared places. */
  async owners(users: readonly number[]): Promise<Set<number>> {
    const asked = new Set(users);
    const found = (await segmentUsers()).intersection(asked);
    if (asked.size === found.size || this.#folders.length === 0) return found;
    const fault = await this.#find(asked, ["-printf", "%U\\n", "-false"], (user) => {
      found.add(Number(user));
      return found.size === asked.size;
    });
    if (fault !== undefined)
      throw new Error(
        `The server could not search ${this.#folders.join(", ")} for files that jobs left there: ${fault}`,
      );
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

  /** Deletes the files and IPC objects of these users. Returns the users that still own something, and the reason. */
  async #pass(users: readonly number[]): Promise<Left> {
    let why = "new files keep appearing";
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

  /**
   * Tries once to delete the files and IPC objects of these users. Returns an error message if a command failed. The
   * caller checks whether anything is left.
   */
  async #remove(users: ReadonlySet<number>): Promise<string | undefined> {
    const { ipcrm, become } = this.#options;
    let why: string | undefined;
    await removeSegments([...users], ipcrm, become).catch((error: Error) => {
      why = error.message.trim();
    });
    if (this.#folders.length === 0) return why;
    // `-execdir` runs rm in the file's own folder, so that no parent can be replaced by a symbolic link meanwhile.
    const action = ["-prune", "-execdir", "rm", "-rf", "--one-file-system", "--", "{}", "+"];
    return (await this.#find(users, action)) ?? why;
  }

  /**
   * Runs `find` with this action on files of these users. It follows no links and skips folders that no job can write
   * to. `until` is called with each printed line; if it returns true, `find` is stopped. Returns an error message if
   * the search was incomplete.
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
    if (signal !== null) return `find was killed by ${signal}`;
    return status === 0 || explained ? undefined : `find failed with exit code ${status}`;
  }
}

const ownedBy = (users: ReadonlySet<number>) =>
  [...users].flatMap((user, index) => [...(index === 0 ? [] : ["-o"]), "-uid", String(user)]);

/**
 * Reads all lines of a stream. Returns whether `enough` returned true for one of them. `stream` is undefined if the
 * program could not be started.
 */
async function readLines(stream: Readable | undefined, enough: (line: string) => boolean): Promise<boolean> {
  if (!stream) return false;
  let isEnough = false;
  for await (const line of createInterface({ input: stream })) isEnough ||= enough(line);
  return isEnough;
}

/**
 * Matches errors of `find` after which the search still counts as complete. Running jobs may delete or replace files
 * during the search. Root may have no access to some mounts, but these contain no files of jobs, because jobs cannot
 * create mounts.
 */
const changed = /: (No such file or directory|Not a directory|Too many levels of symbolic links|Permission denied)$/;
const brokenOff = /^find: (failed to read file names|fts_read)/;
const isFault = (line: string) => brokenOff.test(line) || !changed.test(line);
