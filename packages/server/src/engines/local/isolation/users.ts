/**
 * User ids that jobs run as. Which data folder has which is written down outside of every data folder, so that two
 * servers on one host never share one. A server keeps those that it took: giving one to an attempt costs nothing.
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
/** Taken at a time: going to the registry for each would cost a commit. */
const batch = 32;

interface Row {
  uid: number;
  folder: string;
  pid: number;
  start_time: string;
}

export interface JobUsersOptions {
  readonly range: UserRange;
  /** The data folder, which the registry knows this server by. */
  readonly root: string;
  /** Users of attempts that an earlier life of this server left, by their keys. */
  readonly inUse: ReadonlyMap<number, string>;
  /** Which of these are not to be taken from others: something of theirs is still there. */
  readonly avoid?: ((users: readonly number[]) => Promise<ReadonlySet<number>>) | undefined;
  readonly registry?: string;
}

/** All are in use, for now. */
export class NoFreeUser extends Error {}

export class JobUsers {
  readonly #range: UserRange;
  readonly #avoid: (users: readonly number[]) => Promise<ReadonlySet<number>>;
  readonly #folder: string;
  readonly #registry: DatabaseSync;
  readonly #free: number[];
  /** Which attempt has which. */
  readonly #holders: Map<number, string>;
  #refilling: Promise<void> | undefined;

  constructor({ range, root, inUse, avoid, registry: file = registryFile }: JobUsersOptions) {
    this.#avoid = avoid ?? (async () => new Set());
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    this.#range = range;
    this.#folder = realpathSync(root);
    this.#registry = new DatabaseSync(file, { timeout: 15_000 });
    this.#registry.exec(
      "create table if not exists users (uid integer primary key, folder text not null, pid integer not null, start_time text not null)",
    );
    // After a restart of the machine the registry may be empty: what our folders still need is ours first.
    const insert = this.#registry.prepare("insert or ignore into users values (?, ?, ?, ?)");
    for (const uid of [...inUse.keys()].filter((candidate) => this.#inRange(candidate)))
      insert.run(uid, ...this.#self());
    const own = this.#reclaim();
    this.#holders = new Map([...inUse].filter(([uid]) => own.includes(uid)));
    this.#free = own.filter((uid) => !inUse.has(uid));
  }

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

  /** Nothing of this user is left. Only for the attempt that has it: it may have passed to another meanwhile. */
  give(uid: number, key: string): void {
    if (this.#holders.get(uid) !== key) return;
    this.#holders.delete(uid);
    this.#free.push(uid);
  }

  /** Those that no attempt has. */
  free(): readonly number[] {
    return this.#free;
  }

  /** These are not given to anybody in this life of the server. */
  withhold(users: readonly number[]): void {
    const kept = this.#free.filter((uid) => !users.includes(uid));
    this.#free.splice(0, this.#free.length, ...kept);
  }

  /** Whether it is this attempt's: another server may have got it after a restart of the machine. */
  isHeldBy(uid: number, key: string): boolean {
    return this.#holders.get(uid) === key;
  }

  /** The last one is no job's: with it we look at what jobs can reach. */
  #inRange(uid: number): boolean {
    return uid >= this.#range.first && uid < this.#range.last;
  }

  #self(): [string, number, string] {
    return [this.#folder, process.pid, startTimeOf(process.pid) ?? ""];
  }

  close(): void {
    this.#registry.close();
  }

  /** What this data folder had before. */
  #reclaim(): number[] {
    const update = this.#registry.prepare("update users set pid = ?, start_time = ? where folder = ? returning uid");
    const rows = update.all(process.pid, startTimeOf(process.pid) ?? "", this.#folder) as unknown as Row[];
    return rows.map(({ uid }) => uid).filter((uid) => this.#inRange(uid));
  }

  /** Adds some to the free ones, or throws. */
  async #refill(): Promise<void> {
    const avoided = new Set<number>();
    for (;;) {
      const candidates = this.#candidates(avoided);
      // Some may have been given back while we looked.
      if (candidates.length === 0 && this.#free.length > 0) return;
      if (candidates.length === 0) {
        throw new NoFreeUser(
          `All user ids from ${this.#range.first} to ${this.#range.last} are in use (MILLRACE_JOB_UIDS): by running jobs of this and other servers on this machine, or by files that jobs left and nobody could remove.`,
        );
      }
      // Looked at before they are ours: their server may come back, and has to find them in the registry as they were.
      for (const uid of await this.#avoid(candidates)) avoided.add(uid);
      const claimed = this.#claim(candidates.filter((uid) => !avoided.has(uid)));
      this.#free.push(...claimed);
      if (claimed.length > 0) return;
    }
  }

  #rows(): Row[] {
    return this.#registry.prepare("select * from users").all() as unknown as Row[];
  }

  /** Some that nobody has; where there are none, some whose server is gone and that no process has. */
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

  /** Those of them that nobody else took meanwhile. */
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
