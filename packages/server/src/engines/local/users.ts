/**
 * User ids that jobs run as. Which data folder has which is written down outside of every data folder, so that two
 * servers on one host never share one. A server keeps those that it took: giving one to an attempt costs nothing.
 */
import { mkdirSync, readdirSync, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isAlive, startTimeOf, statusOf } from "./processes.ts";

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
  readonly dataDir: string;
  /** Users of attempts that an earlier life of this server left, by their keys. */
  readonly inUse: ReadonlyMap<number, string>;
  /** Users that are not to be taken from others: something of theirs is still there. */
  readonly avoid?: (() => ReadonlySet<number>) | undefined;
  readonly registry?: string;
}

export class JobUsers {
  readonly #range: UserRange;
  readonly #avoid: () => ReadonlySet<number>;
  readonly #folder: string;
  readonly #registry: DatabaseSync;
  readonly #free: number[];
  /** Which attempt has which. */
  readonly #holders: Map<number, string>;

  constructor({ range, dataDir, inUse, avoid = () => new Set(), registry: file = registryFile }: JobUsersOptions) {
    this.#avoid = avoid;
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    this.#range = range;
    this.#folder = realpathSync(dataDir);
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

  take(key: string): number {
    if (this.#free.length === 0) this.#free.push(...this.#claim());
    const uid = this.#free.shift();
    if (uid !== undefined) {
      this.#holders.set(uid, key);
      return uid;
    }
    throw new Error(
      `All user ids from ${this.#range.first} to ${this.#range.last} are in use (MILLRACE_JOB_UIDS): by running jobs of this and other servers on this machine.`,
    );
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

  /** Some that nobody has; where there are none, some whose server is gone and that no process has. */
  #claim(): number[] {
    const avoid = this.#avoid();
    this.#registry.exec("begin immediate");
    try {
      const rows = this.#registry.prepare("select * from users").all() as unknown as Row[];
      const taken = new Map(rows.map((row) => [row.uid, row]));
      const wanted: number[] = [];
      for (let uid = this.#range.first; uid < this.#range.last && wanted.length < batch; uid++) {
        if (!taken.has(uid) && !avoid.has(uid)) wanted.push(uid);
      }
      const abandoned = wanted.length === 0 ? this.#abandoned(rows).filter((uid) => !avoid.has(uid)) : [];
      wanted.push(...abandoned.slice(0, batch));
      const insert = this.#registry.prepare("insert or replace into users values (?, ?, ?, ?)");
      for (const uid of wanted) insert.run(uid, ...this.#self());
      this.#registry.exec("commit");
      return wanted;
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
