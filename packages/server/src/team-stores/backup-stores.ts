/**
 * Stores of teams for backups: copied while jobs go on, compared with what the registry says, put into a new data folder.
 * As everywhere, only a child with the rights of the store opens it.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, existsSync, lstatSync, mkdirSync } from "node:fs";
import { readdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { CollectRequest } from "./programs/collect.ts";
import type { Compared, Registered } from "./programs/compare-versions.ts";
import type { CopyRequest } from "./programs/copy-store.ts";
import { giveTo, openScratch, putInPlace } from "./scratch.ts";
import { lengthWithLog, slack } from "./store-length.ts";
import { type Confine, StoreBusy, StoreProcesses, StoreUnusable } from "./store-processes.ts";
import { copyNames, storeFiles, TeamFolder } from "./team-folder.ts";

export type { Compared, Registered } from "./programs/compare-versions.ts";
export { StoreUnusable } from "./store-processes.ts";

/** Seconds for a store of any size, and for each GiB of it. */
const patience = { least: 600, perGiB: 60 };
/** Each waits a minute for whoever has the store. */
const busyTries = 3;
const prefix = "backup-";

export class BackupStores {
  readonly #storesDir: string;
  readonly #processes: StoreProcesses;

  readonly #floor: number;

  /** `floor`: bytes that a copy beside the store must leave free, for jobs and the server. */
  constructor(dataDir: string, confine: Confine, floor = 0) {
    this.#floor = floor;
    this.#storesDir = join(dataDir, "team-stores");
    this.#processes = new StoreProcesses(confine, join(dataDir, "compiled"));
  }

  #folder(teamId: number): TeamFolder {
    return new TeamFolder(this.#storesDir, teamId);
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
    if (!folder.exists()) throw new StoreUnusable("The team's dataset store is gone.");
    requireOwner(folder);
    await this.#requireRoom(folder);
    await removeAbandoned(folder);
    const scratch = await openScratch(folder, `${prefix}${process.pid}-${randomUUID().slice(0, 8)}`);
    try {
      const request: CopyRequest = { to: storeFiles(scratch), registered };
      const length = lengthOf(folder.data);
      const limits = { seconds: secondsFor(length), longestFile: length + slack };
      const task = { program: "copy-store", request, writable: [scratch], ...limits };
      return await work(scratch, readCompared(await patiently(() => this.#processes.ask(folder, task)), registered));
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }

  /** Jobs can make files longer than what they wrote, and a copy takes all of that: a team must not fill the disk so. */
  async #requireRoom({ path, data }: TeamFolder): Promise<void> {
    const { bavail, bsize } = await statfs(path);
    const length = lengthOf(data);
    if (bavail * bsize - length >= this.#floor) return;
    const gibibytes = (length / 1024 ** 3).toFixed(1);
    throw new StoreUnusable(`The data folder has no room for a copy of the store, which is ${gibibytes} GiB long.`);
  }

  /** The newest of the daily copies, where there is one. */
  async newestDaily(teamId: number): Promise<{ moment: string; path: string } | undefined> {
    const folder = this.#folder(teamId).file("copies");
    const moment = (await readdir(folder).catch(() => [] as string[])).sort().at(-1);
    return moment === undefined ? undefined : { moment, path: join(folder, moment) };
  }

  /** Makes the store of a team that has none from the files that `fill` puts into a folder, and reads it all. */
  async place(
    teamId: number,
    registered: readonly Registered[],
    fill: (folder: string) => Promise<void>,
  ): Promise<Compared> {
    const folder = this.#folder(teamId);
    mkdirSync(this.#storesDir, { recursive: true, mode: 0o711 });
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
    // The store's user must come to its copies, each of which only it can enter.
    chmodSync(folder.file("copies"), 0o711);
    return this.#compare(folder, join(folder.file("copies"), moment), registered);
  }

  async #compare(folder: TeamFolder, data: string, registered: readonly Registered[]): Promise<Compared> {
    const task = { program: "compare-versions", request: { registered }, data, seconds: secondsFor(lengthOf(data)) };
    return readCompared(await this.#processes.ask(folder, task), registered);
  }

  /** The dataset of this version gets this name in the store. */
  async rename(teamId: number, version: string, name: string): Promise<void> {
    const task = { program: "edit-dataset", request: { version, name }, seconds: patience.least };
    await this.#processes.ask(this.#folder(teamId), task);
  }

  /** What a job had done to the store when it was copied, as the store says it; the store is told that it failed. */
  async collect(teamId: number, request: CollectRequest): Promise<Buffer[]> {
    const task = { program: "collect", request, seconds: patience.least };
    return this.#processes.askLines(this.#folder(teamId), task);
  }

  async remove(teamId: number): Promise<void> {
    await rm(this.#folder(teamId).path, { recursive: true, force: true });
  }
}

/** The store of a server that is not root's is its user's: whoever is root and becomes the group cannot read it. */
function requireOwner(folder: TeamFolder): void {
  const { uid, gid } = lstatSync(folder.data);
  if (folder.group() === undefined || uid === gid) return;
  throw new Error(
    `The dataset stores belong to the user with the id ${uid}, who runs the server: run this as that user.`,
  );
}

/** Of what a child says of a store only what was asked. */
function readCompared(answer: unknown, registered: readonly Registered[]): Compared {
  const { missing, renamed } = (answer ?? {}) as Record<string, unknown>;
  const asked = new Set(registered.map(({ uuid }) => uuid));
  const known = (list: unknown) => (Array.isArray(list) ? list.filter((uuid) => asked.has(uuid)) : [...asked]);
  return { missing: known(missing), renamed: known(renamed) };
}

const filesOf = (data: string) =>
  Object.values(storeFiles(data)).flatMap((path) => lstatSync(path, { throwIfNoEntry: false }) ?? []);

const lengthOf = (data: string) => Object.values(storeFiles(data)).reduce((sum, path) => sum + lengthWithLog(path), 0);

const secondsFor = (length: number) => patience.least + Math.ceil((length / 1024 ** 3) * patience.perGiB);

async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof StoreBusy) || tries === busyTries) throw error;
      await sleep(1000 * tries);
    }
  }
}

/** What a backup that was killed left: its process is gone. */
async function removeAbandoned(folder: TeamFolder): Promise<void> {
  for (const name of await readdir(folder.path)) {
    const pid = new RegExp(`^${prefix}(\\d+)-`).exec(name)?.[1];
    if (pid && !existsSync(`/proc/${pid}`)) await rm(folder.file(name), { recursive: true, force: true });
  }
}
