/**
 * What jobs leave where everybody may write: files in temporary folders and in memory, and System V IPC. At the level
 * `uid` nothing but its owner ties it to its job, so it goes with the job, before anybody else gets that user.
 */
import { execFile } from "node:child_process";
import { type Dir, lstatSync, opendirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { UserRange } from "./users.ts";

export interface SharedPlacesOptions {
  readonly range: UserRange;
  /** Folders that may lie in these places and hold what jobs are to leave: the data folder, the operator's for jobs. */
  readonly kept: readonly string[];
  readonly ipcrm: string;
  /** Words in front of a command that run it as this user: then it can remove nothing of anybody else's. */
  readonly become: (uid: number) => readonly string[];
  readonly folders?: readonly string[];
}

const temporaryFolders = ["/tmp", "/var/tmp", "/dev/shm", "/run/lock"];

/** As many entries are looked at in this process; where there are more, a program does it. */
const mostEntries = 2000;

export class SharedPlaces {
  readonly #options: SharedPlacesOptions;
  readonly #folders: readonly string[];
  /** One removal at a time: each looks through everything. */
  #removing: Promise<unknown> = Promise.resolve();

  constructor(options: SharedPlacesOptions) {
    this.#options = options;
    const folders = options.folders ?? temporaryFolders;
    this.#folders = folders.filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isDirectory());
  }

  /** Users of jobs that own something here; undefined: there is too much to look through. */
  owners(): Set<number> | undefined {
    const users = new Set(segments().flatMap(({ uid, cuid }) => [uid, cuid].filter((user) => this.#isJob(user))));
    const folders = [...this.#folders];
    let seen = 0;
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      for (const path of entries(folder)) {
        if (++seen > mostEntries) return undefined;
        const found = lstatSync(path, { throwIfNoEntry: false });
        if (!found) continue;
        if (this.#isJob(found.uid)) users.add(found.uid);
        const open = (found.mode & 0o002) !== 0 || this.#isJob(found.uid);
        if (found.isDirectory() && open && !this.#options.kept.includes(path)) folders.push(path);
      }
    }
    return users;
  }

  /** Removes whatever these users own here; throws where something stays. None of their processes is left. */
  async clear(users: readonly number[]): Promise<void> {
    const owners = users.length === 0 ? new Set<number>() : this.owners();
    const dirty = owners ? users.filter((user) => owners.has(user)) : [...users];
    if (dirty.length === 0) return;
    const removed = this.#removing.then(() => this.#remove(dirty));
    this.#removing = removed.catch(() => {});
    return removed;
  }

  async #remove(users: readonly number[]): Promise<void> {
    for (const user of users) await this.#removeSegments(user);
    // Somebody else may still be putting files into a folder of theirs.
    for (let attempt = 0; attempt < 3; attempt++) {
      // Seen from the folder that each lies in: no name on the way there can be exchanged for a link.
      await this.#find(users, ["-execdir", "rm", "-rf", "--one-file-system", "--", "{}", "+"]).catch(() => "");
      if ((await this.#find(users, ["-print", "-quit"])) === "") return;
    }
    throw new Error(`What jobs left in ${this.#folders.join(", ")} cannot be removed (users ${users.join(", ")}).`);
  }

  /** Follows no link, stays out of what no job can write to, and takes what these users own as a whole. */
  async #find(users: readonly number[], action: readonly string[]): Promise<string> {
    const { kept, range } = this.#options;
    const aside = kept.flatMap((path) => ["-path", path.replace(/[*?[\\]/g, "\\$&"), "-prune", "-o"]);
    const owned = users.flatMap((user, index) => [...(index === 0 ? [] : ["-o"]), "-uid", String(user)]);
    const jobs = ["-uid", `+${range.first - 1}`, "-uid", `-${range.last + 1}`];
    const closed = ["-type", "d", "!", "-perm", "-0002", "!", "(", ...jobs, ")", "-prune"];
    const expression = [...aside, "(", ...owned, ")", "-prune", ...action, "-o", ...closed];
    const words = ["-P", ...this.#folders, "-xdev", "-mindepth", "1", ...expression];
    const { stdout } = await promisify(execFile)("find", words, {
      env: { PATH: "/usr/bin:/bin", LC_ALL: "C" },
      cwd: "/",
    })
      // Files that vanish meanwhile are no fault.
      .catch((error: { stdout?: string }) => ({ stdout: error.stdout ?? "" }));
    return stdout;
  }

  async #removeSegments(user: number): Promise<void> {
    const { ipcrm, become } = this.#options;
    const words = segments()
      .filter(({ uid, cuid }) => uid === user || cuid === user)
      .flatMap(({ flag, id }) => [flag, id]);
    if (words.length === 0) return;
    const [program = "", ...rest] = [...become(user), ipcrm, ...words];
    await promisify(execFile)(program, rest, { env: { PATH: "/usr/bin:/bin" } });
  }

  #isJob(uid: number): boolean {
    return uid >= this.#options.range.first && uid <= this.#options.range.last;
  }
}

/** As many as are asked for, of a folder of any size. */
function* entries(folder: string): Generator<string> {
  let opened: Dir;
  try {
    opened = opendirSync(folder, { bufferSize: 256 });
  } catch {
    return;
  }
  try {
    for (let entry = opened.readSync(); entry; entry = opened.readSync()) yield join(folder, entry.name);
  } finally {
    opened.closeSync();
  }
}

interface Segment {
  readonly flag: string;
  readonly id: string;
  readonly uid: number;
  readonly cuid: number;
}

const kinds = { shm: "-m", sem: "-s", msg: "-q" };

/** System V shared memory, semaphores and queues of this machine. */
function segments(): Segment[] {
  return Object.entries(kinds).flatMap(([kind, flag]) => {
    const [header = [], ...rows] = table(`/proc/sysvipc/${kind}`);
    const [uid, cuid] = [header.indexOf("uid"), header.indexOf("cuid")];
    return rows.map((row) => ({ flag, id: row[1] ?? "", uid: Number(row[uid]), cuid: Number(row[cuid]) }));
  });
}

function table(file: string): string[][] {
  try {
    const lines = readFileSync(file, "latin1").trim().split("\n");
    return lines.map((line) => line.trim().split(/\s+/));
  } catch {
    return [];
  }
}
