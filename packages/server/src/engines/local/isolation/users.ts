/**
 * Manages the user ids that jobs run as. A registry outside the data folders records which server has reserved which
 * ids, so that two servers on one host never use the same id. A server reserves ids in batches, so that assigning an id
 * to an attempt is cheap.
 */
import { mkdirSync, readdirSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isAlive, startTimeOf, statusOf } from "../processes/processes.ts";

export interface UserRange {
  readonly first: number;
  readonly last: number;
}

const registryFile = "/run/millrace/users.db";
/** How many user ids are reserved at a time. Reserving each id separately would cost a commit per job. */
const batch = 32;

interface Row {
  uid: number;
  folder: string;
  pid: number;
  start_time: string;
}

export interface JobUsersOptions {
  readonly range: UserRange;
  /** The data folder, which identifies this server in the registry. */
  readonly root: string;
  /** User ids of attempts that started before this server did, with the keys of the attempts. */
  readonly inUse: ReadonlyMap<number, string>;
  /** Returns which of these user ids still own files. Such an id is not reserved. */
  readonly avoid?: ((users: readonly number[]) => Promise<ReadonlySet<number>>) | undefined;
  readonly registry?: string;
  /** Whether the data folder is deleted afterwards. If so, `close` gives all its user ids back. */
  readonly isTemporary?: boolean | undefined;
}

/** Thrown if all user ids are in use. */
export class NoFreeUser extends Error {}

export class JobUsers {
  readonly #range: UserRange;
  readonly #isTemporary: boolean;
  readonly #avoid: (users: readonly number[]) => Promise<ReadonlySet<number>>;
  readonly #folder: string;
  readonly #registry: DatabaseSync;
  readonly #free: number[];
  /** Attempt keys by user id. */
  readonly #holders: Map<number, string>;
  #refilling: Promise<void> | undefined;

  constructor({ range, root, inUse, avoid, registry: file = registryFile, isTemporary = false }: JobUsersOptions) {
    this.#isTemporary = isTemporary;
    this.#avoid = avoid ?? (async () => new Set());
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    this.#range = range;
    this.#folder = realpathSync(root);
    this.#registry = new DatabaseSync(file, { timeout: 15_000 });
    this.#registry.exec(
      "create table if not exists users (uid integer primary key, folder text not null, pid integer not null, start_time text not null)",
    );
    // After a reboot the registry may be empty. Reserve the ids that own our attempt folders before anything else.
    const insert = this.#registry.prepare("insert or ignore into users values (?, ?, ?, ?)");
    for (const uid of [...inUse.keys()].filter((candidate) => this.#inRange(candidate)))
      insert.run(uid, ...this.#self());
    const own = this.#reclaim();
    this.#holders = new Map([...inUse].filter(([uid]) => own.includes(uid)));
    this.#free = own.filter((uid) => !inUse.has(uid));
  }

  /** Assigns a free user id to an attempt. */
  async take(key: string): Promise<number> {
    for (;;) {
      const uid = this.#free.shift();
      if (uid !== undefined) {
        this.#holders.set(uid, key);
        return uid;
      }
      this.#refilling ??= this.#refill().finally(() => {
        this.#refilling = undefined;
      });
      await this.#refilling;
    }
  }

  /** Releases a user id that has no files or processes left. Does nothing if another attempt has the id now. */
  give(uid: number, key: string): void {
    if (this.#holders.get(uid) !== key) return;
    this.#holders.delete(uid);
    this.#free.push(uid);
  }

  /** Passes a user id on, with the files of its holder. Returns false if `from` does not have the id. */
  hand(uid: number, from: string, to: string): boolean {
    if (this.#holders.get(uid) !== from) return false;
    this.#holders.set(uid, to);
    return true;
  }

  /** Returns the reserved user ids that no attempt has. */
  free(): readonly number[] {
    return this.#free;
  }

  /** Excludes these user ids until the server is restarted. */
  withhold(users: readonly number[]): void {
    const kept = this.#free.filter((uid) => !users.includes(uid));
    this.#free.splice(0, this.#free.length, ...kept);
  }

  /** Whether the user id is assigned to this attempt. After a reboot, another server may have taken the id. */
  isHeldBy(uid: number, key: string): boolean {
    return this.#holders.get(uid) === key;
  }

  /**
   * Whether jobs may get this user id. The last id of the range is not given to jobs: with it, the server tests what
   * jobs can access.
   */
  #inRange(uid: number): boolean {
    return uid >= this.#range.first && uid < this.#range.last;
  }

  #self(): [string, number, string] {
    return [this.#folder, process.pid, startTimeOf(process.pid) ?? ""];
  }

  close(): void {
    if (this.#isTemporary) this.#registry.prepare("delete from users where folder = ?").run(this.#folder);
    this.#registry.close();
  }

  /** Takes over the user ids that this data folder had reserved before the restart. */
  #reclaim(): number[] {
    const update = this.#registry.prepare("update users set pid = ?, start_time = ? where folder = ? returning uid");
    const rows = update.all(process.pid, startTimeOf(process.pid) ?? "", this.#folder) as unknown as Row[];
    return rows.map(({ uid }) => uid).filter((uid) => this.#inRange(uid));
  }

  /** Reserves more user ids. Throws NoFreeUser if no id can be reserved. */
  async #refill(): Promise<void> {
    const avoided = new Set<number>();
    for (;;) {
      const candidates = this.#candidates(avoided);
      // Attempts may have released ids meanwhile.
      if (candidates.length === 0 && this.#free.length > 0) return;
      if (candidates.length === 0) {
        throw new NoFreeUser(
          `All user ids from ${this.#range.first} to ${this.#range.last} (MILLRACE_JOB_UIDS) are taken, by running jobs or by files of ended jobs that could not be removed. Set MILLRACE_JOB_UIDS to a larger range, or wait for jobs to end.`,
        );
      }
      // Check ids before reserving them: their former server may return and must find its registry entries unchanged.
      for (const uid of await this.#avoid(candidates)) avoided.add(uid);
      const claimed = this.#claim(candidates.filter((uid) => !avoided.has(uid)));
      this.#free.push(...claimed);
      if (claimed.length > 0) return;
    }
  }

  #rows(): Row[] {
    return this.#registry.prepare("select * from users").all() as unknown as Row[];
  }

  /**
   * Returns a batch of user ids that no server has reserved. If there are none, returns ids that a dead server had
   * reserved and that no process uses.
   */
  #candidates(avoided: ReadonlySet<number>): number[] {
    const rows = this.#rows();
    const taken = new Set(rows.map(({ uid }) => uid));
    const unknown: number[] = [];
    for (let uid = this.#range.first; uid < this.#range.last && unknown.length < batch; uid++) {
      if (!taken.has(uid) && !avoided.has(uid)) unknown.push(uid);
    }
    if (unknown.length > 0) return unknown;
    return this.#abandoned(rows)
      .filter((uid) => !avoided.has(uid))
      .slice(0, batch);
  }

  /**
   * Reserves these user ids, except those that another server has reserved meanwhile. Returns the ids that were
   * reserved.
   */
  #claim(candidates: readonly number[]): number[] {
    this.#registry.exec("begin immediate");
    try {
      const rows = this.#rows().filter(({ uid }) => candidates.includes(uid));
      const abandoned = new Set(rows.length === 0 ? [] : this.#abandoned(rows));
      const taken = new Set(rows.map(({ uid }) => uid)).difference(abandoned);
      const claimed = candidates.filter((uid) => !taken.has(uid));
      const insert = this.#registry.prepare("insert or replace into users values (?, ?, ?, ?)");
      for (const uid of claimed) insert.run(uid, ...this.#self());
      this.#registry.exec("commit");
      return claimed;
    } catch (error) {
      this.#registry.exec("rollback");
      throw error;
    }
  }

  #abandoned(rows: readonly Row[]): number[] {
    const alive = usersOfProcesses();
    return rows
      .filter(({ uid, folder }) => this.#inRange(uid) && folder !== this.#folder && !alive.has(uid))
      .filter(({ pid, start_time }) => !isAlive({ pid, startTime: start_time }))
      .map(({ uid }) => uid);
  }
}

function usersOfProcesses(): Set<number> {
  const users = new Set<number>();
  for (const name of readdirSync("/proc")) {
    const uid = /^\d+$/.test(name) ? statusOf(Number(name))?.uid : undefined;
    if (uid !== undefined) users.add(uid);
  }
  return users;
}
