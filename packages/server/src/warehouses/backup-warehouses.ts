/**
 * Warehouses of teams for backups: copied while jobs go on, compared with what the registry says, put into a new data folder.
 * As everywhere, only a child with the rights of the warehouse opens it.
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

/** Seconds for a warehouse of any size, and for each GiB of it. */
const patience = { least: 600, perGiB: 60 };
/** Each waits a minute for whoever has the store. */
const busyTries = 3;
const prefix = "backup-";

export class BackupWarehouses {
  readonly #warehousesDir: string;
  readonly #processes: WarehouseProcesses;

  readonly #floor: number;

  /** `floor`: bytes that a copy beside the warehouse must leave free, for jobs and the server. */
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

  /** What its files take on disk. */
  bytes(teamId: number): number {
    const found = filesOf(this.#folder(teamId).data);
    return found.reduce((sum, { size, blocks }) => sum + Math.min(size, blocks * 512), 0);
  }

  /** A copy as of now is in the folder that `work` is told, until `work` is done. */
  async withCopy<T>(
    teamId: number,
    registered: readonly Registered[],
    work: (copy: string, compared: Compared) => Promise<T>,
  ): Promise<T> {
    const folder = this.#folder(teamId);
    if (!folder.exists()) throw new WarehouseUnusable("The team's warehouse is gone.");
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

  /** Jobs can make files longer than what they wrote, and a copy takes all of that: a team must not fill the disk so. */
  async #requireRoom({ path, data }: WarehouseFolder): Promise<void> {
    const { bavail, bsize } = await statfs(path);
    const length = lengthOf(data);
    if (bavail * bsize - length >= this.#floor) return;
    const gibibytes = (length / 1024 ** 3).toFixed(1);
    throw new WarehouseUnusable(
      `The data folder has no room for a copy of the warehouse, which is ${gibibytes} GiB long.`,
    );
  }

  /** The newest of the daily copies, where there is one. */
  async newestDaily(teamId: number): Promise<{ moment: string; path: string } | undefined> {
    const folder = this.#folder(teamId).file("copies");
    const moment = (await readdir(folder).catch(() => [] as string[])).sort().at(-1);
    return moment === undefined ? undefined : { moment, path: join(folder, moment) };
  }

  /** Makes the warehouse of a team that has none from the files that `fill` puts into a folder, and reads it all. */
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
    // The warehouse's user must come to its copies, each of which only it can enter.
    chmodSync(folder.file("copies"), 0o711);
    return this.#compare(folder, join(folder.file("copies"), moment), registered);
  }

  async #compare(folder: WarehouseFolder, data: string, registered: readonly Registered[]): Promise<Compared> {
    const task = { program: "compare-versions", request: { registered }, data, seconds: secondsFor(lengthOf(data)) };
    return readCompared(await this.#processes.ask(folder, task), registered);
  }

  /** The dataset of this version gets this name in the store. */
  async rename(teamId: number, version: string, name: string): Promise<void> {
    const task = { program: "edit-dataset", request: { version, name }, seconds: patience.least };
    await this.#processes.ask(this.#folder(teamId), task);
  }

  /** What a job had done to the warehouse when it was copied, as the warehouse says it; the warehouse is told that it failed. */
  async collect(teamId: number, request: CollectRequest): Promise<Buffer[]> {
    const task = { program: "collect", request, seconds: patience.least };
    return this.#processes.askLines(this.#folder(teamId), task);
  }

  async remove(teamId: number): Promise<void> {
    await rm(this.#folder(teamId).path, { recursive: true, force: true });
  }
}

/** The warehouse of a server that is not root's is its user's: whoever is root and becomes the group cannot read it. */
function requireOwner(folder: WarehouseFolder): void {
  const { uid, gid } = lstatSync(folder.data);
  if (folder.group() === undefined || uid === gid) return;
  throw new Error(`The warehouses belong to the user with the id ${uid}, who runs the server: run this as that user.`);
}

/** Of what a child says of a warehouse only what was asked. */
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

/** What a backup that was killed left: its process is gone. */
async function removeAbandoned(folder: WarehouseFolder): Promise<void> {
  for (const name of await readdir(folder.path)) {
    const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (pid && !existsSync(`/proc/${pid}`)) await rm(folder.file(name), { recursive: true, force: true });
  }
}
