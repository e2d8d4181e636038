/** The stores of teams: made for jobs that use the library, read back after each, copied every day, tidied when idle. */
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { copyFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { diskUsage } from "../engines/disk-usage.ts";
import type { Python } from "../engines/engine.ts";
import { Changes } from "./changes.ts";
import { makeRoomFor } from "./copy-names.ts";
import { type Confinement, Keeper, StoreUnusable } from "./keeper.ts";
import type { CollectRequest } from "./programs/collect.ts";
import type { EditRequest } from "./programs/edit-dataset.ts";
import type { RowsRequest } from "./programs/export-rows.ts";
import type { RemoveRequest } from "./programs/remove-versions.ts";
import { storeFiles, TeamFolder } from "./team-folder.ts";

export { StoreBusy, StoreUnusable } from "./keeper.ts";

/** Seconds that a program may take. */
const patience = { collect: 120, copy: 3600, tidy: 900, list: 300, export: 600, change: 120 };

export class TeamStores {
  readonly #storesDir: string;
  readonly #keeper: Keeper;
  readonly #changes = new Changes();

  constructor(dataDir: string, confinement: Confinement) {
    this.#storesDir = join(dataDir, "team-stores");
    mkdirSync(this.#storesDir, { recursive: true, mode: 0o711 });
    chmodSync(this.#storesDir, 0o711);
    this.#keeper = new Keeper(confinement, join(dataDir, "compiled"));
  }

  #folder(teamId: number): TeamFolder {
    return new TeamFolder(this.#storesDir, teamId);
  }

  /** The store as a job of this team finds it; made where there is none. */
  use(teamId: number) {
    const folder = this.#folder(teamId);
    folder.make();
    // Done when the job is.
    void this.#keeper.prepare().then(() => this.#keeper.expect(folder));
    const { data, metadata, rows } = folder;
    return { folder: data, group: folder.group(), metadata, rows, made: folder.isMade() };
  }

  /**
   * How a job ended goes in, what it did comes out: as the team's store says it, so nothing of it is to be believed.
   * Its interpreter is remembered, for tidying.
   */
  async collect(teamId: number, request: CollectRequest, python: Python | null): Promise<unknown> {
    const folder = this.#folder(teamId);
    const found = await this.#keeper.ask(folder, { program: "collect", request, seconds: patience.collect });
    folder.markMade();
    if (python) writeFileSync(folder.file("python"), JSON.stringify(python), { mode: 0o600 });
    return found;
  }

  /** One file of a version's rows, written to `path`, which is made anew. */
  async exportRows(teamId: number, request: RowsRequest, path: string): Promise<void> {
    const task = { program: "export-rows", request, seconds: patience.export };
    const folder = this.#folder(teamId);
    if (!folder.exists()) throw new StoreUnusable("The team has no dataset store yet.");
    await this.#keeper.fill(folder, task, path);
  }

  async editDataset(teamId: number, request: EditRequest): Promise<void> {
    await this.#change(teamId, "edit-dataset", request);
  }

  async removeVersions(teamId: number, request: RemoveRequest): Promise<void> {
    await this.#change(teamId, "remove-versions", request);
  }

  /** A team without a store has nothing to change. */
  async #change(teamId: number, program: string, request: unknown): Promise<void> {
    const folder = this.#folder(teamId);
    const task = { program, request, seconds: patience.change };
    if (folder.exists()) await this.#changes.inTurn(teamId, () => this.#keeper.ask(folder, task));
  }

  close(): void {
    this.#keeper.close();
  }

  /** What the store takes on disk, with whatever jobs put beside it; not the copies. */
  async bytes(teamId: number): Promise<number> {
    const folder = this.#folder(teamId);
    return folder.exists() ? diskUsage([folder.data]) : 0;
  }

  /** How long its files are: a copy may take that much, since jobs can make files longer than what they wrote. */
  length(teamId: number): number {
    const { metadata, rows } = this.#folder(teamId);
    const sizes = [metadata, rows].map((path) => lstatSync(path, { throwIfNoEntry: false })?.size ?? 0);
    return sizes.reduce((sum, size) => sum + size, 0);
  }

  /** Under the name of its moment, as the newest; the oldest go. */
  async copy(teamId: number, moment: string, keep: number): Promise<void> {
    const folder = this.#folder(teamId);
    const scratch = await openScratch(folder, "copy.new");
    const task = { program: "copy-store", request: storeFiles(scratch), writable: [scratch], seconds: patience.copy };
    try {
      await this.#keeper.ask(folder, task);
      mkdirSync(folder.file("copies"), { recursive: true, mode: 0o700 });
      makeRoomFor(moment, folder.file("copies"));
      renameSync(scratch, join(folder.file("copies"), moment));
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
    for (const old of (await this.copies(teamId)).slice(keep))
      await rm(join(folder.file("copies"), old), { recursive: true });
  }

  /** Moments of the copies, newest first. */
  async copies(teamId: number): Promise<string[]> {
    const names = await readdir(this.#folder(teamId).file("copies")).catch(() => [] as string[]);
    return names.sort().reverse();
  }

  /** A copy in the place of the store, while no job works with it. Returns the uuids of the versions that it has. */
  async restore(teamId: number, moment: string): Promise<string[]> {
    const folder = this.#folder(teamId);
    const copy = join(folder.file("copies"), moment);
    folder.make();
    const fresh = await openScratch(folder, "data.new");
    const [from, to] = [storeFiles(copy), storeFiles(fresh)];
    for (const part of ["metadata", "rows"] as const) {
      await copyFile(from[part], to[part]);
      giveTo(folder, to[part], 0o660);
    }
    chmodSync(fresh, folder.group() === undefined ? 0o700 : 0o2770);
    // Before anything is changed: a copy that cannot be read must not take the place of what is there.
    const task = { program: "list-versions", request: {}, data: fresh, seconds: patience.list };
    const uuids = await this.#keeper.ask(folder, task);
    const old = folder.file("data.old");
    await rm(old, { recursive: true, force: true });
    if (folder.exists()) renameSync(folder.data, old);
    renameSync(fresh, folder.data);
    this.#keeper.forget(folder);
    folder.markMade();
    await rm(old, { recursive: true, force: true });
    return Array.isArray(uuids) ? uuids.filter((uuid) => typeof uuid === "string") : [];
  }

  /** Gives space back that is empty since versions were removed; only while no job of the team runs. */
  async compact(teamId: number): Promise<void> {
    await this.#keeper.ask(this.#folder(teamId), { program: "compact-store", request: {}, seconds: patience.tidy });
  }

  /** The library's own garbage collection; only while no job of the team runs. Returns what it said. */
  async tidy(teamId: number): Promise<string> {
    const folder = this.#folder(teamId);
    const python = readPython(folder);
    if (!python) return "nothing: the interpreter that last worked with it is gone";
    const scratch = await openScratch(folder, "tidy.new");
    const { metadata, rows } = folder;
    const command = {
      words: [python.path, "-m", "datachain", "gc"],
      environment: {
        DATACHAIN_METASTORE_ARG_DB_FILE: metadata,
        DATACHAIN_WAREHOUSE_ARG_DB_FILE: rows,
        DATACHAIN_ROOT_DIR: scratch,
        DATACHAIN_NO_ANALYTICS: "1",
        PYTHONDONTWRITEBYTECODE: "1",
        HOME: scratch,
      },
      readable: python.folders,
      writable: [scratch],
      seconds: patience.tidy,
    };
    try {
      // In turn: whatever stays of the store's user is ended afterwards, and a change would be, too.
      return await this.#changes.inTurn(teamId, () => this.#keeper.run(folder, command));
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
}

/** The interpreter that last worked with the store, if it is still there. */
function readPython(folder: TeamFolder): Python | undefined {
  const path = folder.file("python");
  if (!existsSync(path)) return undefined;
  const python = JSON.parse(readFileSync(path, "utf8")) as Python;
  return existsSync(python.path) ? python : undefined;
}

/** An empty folder beside the store for whoever looks after it. */
async function openScratch(folder: TeamFolder, name: string): Promise<string> {
  if (!folder.exists()) throw new StoreUnusable("The team has no dataset store yet.");
  const path = folder.file(name);
  await rm(path, { recursive: true, force: true });
  mkdirSync(path, { mode: 0o700 });
  giveTo(folder, path, 0o700);
  return path;
}

function giveTo(folder: TeamFolder, path: string, mode: number): void {
  const group = folder.group();
  chmodSync(path, mode);
  if (group !== undefined) chownSync(path, group, group);
}
