/**
 * Copies the teams' warehouses for backups while jobs run, compares them with the registry, and restores them to a new
 * data folder. Only a child process with the warehouse's own permissions opens a warehouse.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, lstatSync, mkdirSync } from "node:fs";
import { readdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { lengthWithLog, slack } from "./file-length.ts";
import type { CollectRequest } from "./programs/collect.ts";
import type { Compared, Registered } from "./programs/compare-versions.ts";
import type { CopyRequest } from "./programs/copy-warehouse.ts";
import { giveTo, openScratch, putInPlace } from "./scratch.ts";
import { copyNames, WarehouseFolder, type WarehouseFolders, warehouseFiles } from "./warehouse-folder.ts";
import { type Confine, WarehouseBusy, WarehouseProcesses, WarehouseUnusable } from "./warehouse-processes.ts";

export type { Compared, Registered } from "./programs/compare-versions.ts";
export { WarehouseUnusable } from "./warehouse-processes.ts";

/** Time limit of a child process in seconds: a base, and an addition for each GiB of the warehouse. */
const patience = { least: 600, perGiB: 60 };
/** Maximum number of attempts to copy a warehouse that another process has locked; each attempt waits a minute. */
const busyTries = 3;
const prefix = "backup-";

export class BackupWarehouses {
  readonly #warehousesDir: string;
  readonly #processes: WarehouseProcesses;

  readonly #floor: number;

  /** `floor` is the number of bytes that a copy on the same disk must leave free for jobs and the server. */
  constructor({ teams, compiled }: WarehouseFolders, confine: Confine, floor = 0) {
    this.#floor = floor;
    this.#warehousesDir = teams;
    this.#processes = new WarehouseProcesses(confine, compiled);
  }

  #folder(teamId: number): WarehouseFolder {
    return new WarehouseFolder(this.#warehousesDir, teamId);
  }

  exists(teamId: number): boolean {
    return this.#folder(teamId).exists();
  }

  /** Returns the bytes that the warehouse's files take on disk. */
  bytes(teamId: number): number {
    const found = filesOf(this.#folder(teamId).data);
    return found.reduce((sum, { size, blocks }) => sum + Math.min(size, blocks * 512), 0);
  }

  /** Makes a consistent copy of the warehouse, passes its folder to `work`, and deletes the copy afterwards. */
  async withCopy<T>(
    teamId: number,
    registered: readonly Registered[],
    work: (copy: string, compared: Compared) => Promise<T>,
  ): Promise<T> {
    const folder = this.#folder(teamId);
    if (!folder.exists())
      throw new WarehouseUnusable(
        "The team's warehouse is missing. An admin of the team can replace the warehouse with its newest daily copy.",
      );
    requireOwner(folder);
    await this.#requireRoom(folder);
    await removeAbandoned(folder);
    const scratch = await openScratch(folder, `${prefix}${process.pid}-${randomUUID().slice(0, 8)}`);
    try {
      const request: CopyRequest = { to: warehouseFiles(scratch), registered };
      const length = lengthOf(folder.data);
      const limits = { seconds: secondsFor(length), longestFile: length + slack };
      const task = { program: "copy-warehouse", request, writable: [scratch], ...limits };
      return await work(scratch, readCompared(await patiently(() => this.#processes.ask(folder, task)), registered));
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }

  /**
   * Throws if the disk has no space for a copy. Jobs can make sparse files, which are far longer than their data, and a
   * copy would take the full length.
   */
  async #requireRoom({ path, data }: WarehouseFolder): Promise<void> {
    const { bavail, bsize } = await statfs(path);
    const length = lengthOf(data);
    if (bavail * bsize - length >= this.#floor) return;
    const gibibytes = (length / 1024 ** 3).toFixed(1);
    throw new WarehouseUnusable(
      `The data folder has too little free space for a copy of the warehouse, which takes ${gibibytes} GiB. Free some space and try again.`,
    );
  }

  /** Returns the newest daily copy; undefined if there is none. */
  async newestDaily(teamId: number): Promise<{ moment: string; path: string } | undefined> {
    const folder = this.#folder(teamId).file("copies");
    const moment = (await readdir(folder).catch(() => [] as string[])).sort().at(-1);
    return moment === undefined ? undefined : { moment, path: join(folder, moment) };
  }

  /**
   * Creates the warehouse of a team that has none. `fill` must write the warehouse's files to the folder that it
   * receives. Then the files are read completely and compared with the registry.
   */
  async place(
    teamId: number,
    registered: readonly Registered[],
    fill: (folder: string) => Promise<void>,
  ): Promise<Compared> {
    const folder = this.#folder(teamId);
    mkdirSync(this.#warehousesDir, { recursive: true, mode: 0o711 });
    folder.make();
    const fresh = await openScratch(folder, "data.new");
    await fill(fresh);
    for (const path of copyNames.map((name) => join(fresh, name))) if (existsSync(path)) giveTo(folder, path, 0o660);
    await rm(folder.data, { recursive: true });
    putInPlace(folder, fresh);
    return this.compare(teamId, registered);
  }

  compare(teamId: number, registered: readonly Registered[]): Promise<Compared> {
    const folder = this.#folder(teamId);
    return this.#compare(folder, folder.data, registered);
  }

  compareDaily(teamId: number, moment: string, registered: readonly Registered[]): Promise<Compared> {
    const folder = this.#folder(teamId);
    // The warehouse's user must be able to reach its copies; each copy is accessible only to that user.
    chmodSync(folder.file("copies"), 0o711);
    return this.#compare(folder, join(folder.file("copies"), moment), registered);
  }

  async #compare(folder: WarehouseFolder, data: string, registered: readonly Registered[]): Promise<Compared> {
    const task = { program: "compare-versions", request: { registered }, data, seconds: secondsFor(lengthOf(data)) };
    return readCompared(await this.#processes.ask(folder, task), registered);
  }

  /** Renames the dataset of this version in the team's warehouse. */
  async rename(teamId: number, version: string, name: string): Promise<void> {
    const task = { program: "edit-dataset", request: { version, name }, seconds: patience.least };
    await this.#processes.ask(this.#folder(teamId), task);
  }

  /**
   * Reads what a job had saved in a restored warehouse when the backup was taken, and records the end of the job in the
   * warehouse. The answer is untrusted.
   */
  async collect(teamId: number, request: CollectRequest): Promise<Buffer[]> {
    const task = { program: "collect", request, seconds: patience.least };
    return this.#processes.askLines(this.#folder(teamId), task);
  }

  async remove(teamId: number): Promise<void> {
    await rm(this.#folder(teamId).path, { recursive: true, force: true });
  }
}

/**
 * Throws if this command runs as root but the server does not. The child process runs with the warehouse's group, so it
 * could not read files of the server's user.
 */
function requireOwner(folder: WarehouseFolder): void {
  const { uid, gid } = lstatSync(folder.data);
  if (folder.group() === undefined || uid === gid) return;
  throw new Error(
    `The warehouses belong to the user with id ${uid}, who runs the server. Run this command as that user.`,
  );
}

/** Parses a child's answer. It is untrusted, so only uuids that were requested are accepted. */
function readCompared(answer: unknown, registered: readonly Registered[]): Compared {
  const { missing, renamed } = (answer ?? {}) as Record<string, unknown>;
  const asked = new Set(registered.map(({ uuid }) => uuid));
  const known = (list: unknown) => (Array.isArray(list) ? list.filter((uuid) => asked.has(uuid)) : [...asked]);
  return { missing: known(missing), renamed: known(renamed) };
}

const filesOf = (data: string) =>
  Object.values(warehouseFiles(data)).flatMap((path) => lstatSync(path, { throwIfNoEntry: false }) ?? []);

const lengthOf = (data: string) =>
  Object.values(warehouseFiles(data)).reduce((sum, path) => sum + lengthWithLog(path), 0);

const secondsFor = (length: number) => patience.least + Math.ceil((length / 1024 ** 3) * patience.perGiB);

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof WarehouseBusy) || tries === busyTries) throw error;
      await sleep(1000 * tries);
    }
  }
}

/** Deletes copies left behind by killed backups, whose processes no longer exist. */
async function removeAbandoned(folder: WarehouseFolder): Promise<void> {
  for (const name of await readdir(folder.path)) {
    const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (pid && !existsSync(`/proc/${pid}`)) await rm(folder.file(name), { recursive: true, force: true });
  }
}
