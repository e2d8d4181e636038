/** The warehouses of teams: made for jobs that use the library, read back after each, copied every day, tidied when idle. */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { copyFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { collectGarbage } from "../datachain/garbage-collection.ts";
import { diskUsage } from "../engines/disk-usage.ts";
import type { Python } from "../engines/engine.ts";
import { Changes } from "./changes.ts";
import { makeRoomFor } from "./copy-names.ts";
import { lengthWithLog, slack } from "./file-length.ts";
import type { CollectRequest } from "./programs/collect.ts";
import type { CopyRequest } from "./programs/copy-warehouse.ts";
import type { EditRequest } from "./programs/edit-dataset.ts";
import type { RowsRequest } from "./programs/export-rows.ts";
import type { RemoveRequest } from "./programs/remove-versions.ts";
import { giveTo, openScratch, putInPlace, replaceWarehouse } from "./scratch.ts";
import { copyNames, libraryMark, WarehouseFolder, type WarehouseFolders, warehouseFiles } from "./warehouse-folder.ts";
import { type Confine, type ConfineStrangers, WarehouseProcesses, WarehouseUnusable } from "./warehouse-processes.ts";

export { WarehouseBusy, WarehouseUnusable } from "./warehouse-processes.ts";

/** Seconds that a program may take. */
const patience = { collect: 120, copy: 3600, tidy: 900, list: 300, export: 600, change: 120 };

/** A warehouse that can be put back: a daily copy, or one that a copy took the place of. */
export interface WarehouseCopy {
  readonly moment: string;
  readonly kind: "daily" | "replaced";
}

/** How commands are given a view. */
export interface Confinement {
  readonly confine: Confine;
  readonly confineStrangers: ConfineStrangers;
}

export class Warehouses {
  readonly #warehousesDir: string;
  readonly #processes: WarehouseProcesses;
  readonly #confineStrangers: ConfineStrangers;
  readonly #changes = new Changes();

  constructor({ teams, compiled }: WarehouseFolders, { confine, confineStrangers }: Confinement) {
    this.#confineStrangers = confineStrangers;
    this.#warehousesDir = teams;
    mkdirSync(this.#warehousesDir, { recursive: true, mode: 0o711 });
    chmodSync(this.#warehousesDir, 0o711);
    this.#processes = new WarehouseProcesses(confine, compiled);
  }

  #folder(teamId: number): WarehouseFolder {
    return new WarehouseFolder(this.#warehousesDir, teamId);
  }

  /** The warehouse as a job of this team finds it; made where there is none. */
  use(teamId: number) {
    const folder = this.#folder(teamId);
    folder.make();
    // Done when the job is.
    void this.#processes.prepare().then(() => this.#processes.expect(folder));
    const { data, metadata, rows } = folder;
    return { folder: data, group: folder.group(), metadata, rows, made: folder.isMade() };
  }

  /**
   * How a job ended goes in, what it did comes out: as the team's warehouse says it, so nothing of it is to be believed.
   * Its interpreter is remembered, for tidying.
   */
  async collect(teamId: number, request: CollectRequest, python: Python | null): Promise<Buffer[]> {
    const folder = this.#folder(teamId);
    const found = await this.#processes.askLines(folder, { program: "collect", request, seconds: patience.collect });
    folder.markMade();
    if (python) writeFileSync(folder.file("python"), JSON.stringify(python), { mode: 0o600 });
    return found;
  }

  /** One file of a version's rows, written to `path`, which is made anew. */
  async exportRows(teamId: number, request: RowsRequest, path: string): Promise<void> {
    // Rows that are not in order are sorted in a file.
    const longestFile = 2 * this.length(teamId) + slack;
    const task = { program: "export-rows", request, seconds: patience.export, longestFile };
    const folder = this.#folder(teamId);
    if (!folder.exists()) throw new WarehouseUnusable("The team has no warehouse yet.");
    await this.#processes.fill(folder, task, path);
  }

  async editDataset(teamId: number, request: EditRequest): Promise<void> {
    await this.#change(teamId, "edit-dataset", request);
  }

  async removeVersions(teamId: number, request: RemoveRequest): Promise<void> {
    await this.#change(teamId, "remove-versions", request);
  }

  /** A team without a warehouse has nothing to change. */
  async #change(teamId: number, program: string, request: unknown): Promise<void> {
    const folder = this.#folder(teamId);
    const task = { program, request, seconds: patience.change };
    if (folder.exists()) await this.#changes.inTurn(teamId, () => this.#processes.ask(folder, task));
  }

  close(): void {
    this.#processes.close();
  }

  /** What the warehouse takes on disk, with whatever jobs put beside it; not the copies. */
  async bytes(teamId: number): Promise<number> {
    const folder = this.#folder(teamId);
    return folder.exists() ? diskUsage([folder.data]) : 0;
  }

  /** How long its files are: a copy may take that much, since jobs can make files longer than what they wrote. */
  length(teamId: number): number {
    const { metadata, rows } = this.#folder(teamId);
    return lengthWithLog(metadata) + lengthWithLog(rows);
  }

  /** Under the name of its moment, as the newest; the oldest go. */
  async copy(teamId: number, moment: string, keep: number): Promise<void> {
    const folder = this.#folder(teamId);
    const scratch = await openScratch(folder, "copy.new");
    const request: CopyRequest = { to: warehouseFiles(scratch), registered: [] };
    const longestFile = this.length(teamId) + slack;
    const task = { program: "copy-warehouse", request, writable: [scratch], seconds: patience.copy, longestFile };
    try {
      await this.#processes.ask(folder, task);
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

  /** Moments at which warehouses were replaced that are kept for a while, newest first. */
  async replaced(teamId: number): Promise<string[]> {
    const names = await readdir(this.#folder(teamId).file("replaced")).catch(() => [] as string[]);
    return names.sort().reverse();
  }

  async forgetReplaced(teamId: number, moment: string): Promise<void> {
    await rm(join(this.#folder(teamId).file("replaced"), moment), { recursive: true, force: true });
  }

  /**
   * A copy in the place of the warehouse, while no job works with it; the warehouse is kept as the one replaced at `now`. Returns
   * the uuids of the versions that the copy has.
   */
  async restore(teamId: number, { moment, kind }: WarehouseCopy, now: string): Promise<string[]> {
    const folder = this.#folder(teamId);
    const isGone = !folder.exists();
    // A replaced warehouse goes back as it was, with what SQLite had not put into its files yet.
    const back = join(folder.file("replaced"), moment);
    if (isGone && kind === "replaced") {
      putInPlace(folder, back);
      return this.#versions(folder, folder.data);
    }
    folder.make();
    const fresh = kind === "replaced" ? back : await duplicate(folder, join(folder.file("copies"), moment));
    // Before anything is changed: a copy that cannot be read must not take the place of what is there.
    const uuids = await this.#versions(folder, fresh);
    replaceWarehouse(folder, fresh, join(folder.file("replaced"), now));
    this.#processes.forget(folder);
    if (isGone) await this.forgetReplaced(teamId, now);
    return uuids;
  }

  async #versions(folder: WarehouseFolder, data: string): Promise<string[]> {
    const task = { program: "list-versions", request: {}, data, seconds: patience.list };
    const uuids = await this.#processes.ask(folder, task);
    return Array.isArray(uuids) ? uuids.filter((uuid) => typeof uuid === "string") : [];
  }

  /** Gives space back that is empty since versions were removed; only while no job of the team runs. */
  async compact(teamId: number): Promise<void> {
    // Written anew, it is shorter; an index that says more than it holds would make it longer without an end.
    const longestFile = 2 * this.length(teamId) + 64 * 1024 * 1024;
    const task = { program: "compact-warehouse", request: {}, seconds: patience.tidy, longestFile };
    await this.#processes.ask(this.#folder(teamId), task);
  }

  /** The library's own garbage collection; only while no job of the team runs. Returns what it said. */
  async tidy(teamId: number): Promise<string> {
    const folder = this.#folder(teamId);
    const python = readPython(folder);
    if (!python) return "nothing: the interpreter that last worked with it is gone";
    const scratch = await openScratch(folder, "tidy.new");
    const command = {
      ...collectGarbage(python.path, folder, scratch),
      readable: python.folders,
      writable: [scratch],
      seconds: patience.tidy,
    };
    try {
      // In turn: whatever stays of the warehouse's user is ended afterwards, and a change would be, too.
      return await this.#changes.inTurn(teamId, () => this.#processes.run(folder, command, this.#confineStrangers));
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
}

/** The interpreter that last worked with the warehouse, if it is still there. */
function readPython(folder: WarehouseFolder): Python | undefined {
  const path = folder.file("python");
  if (!existsSync(path)) return undefined;
  const python = JSON.parse(readFileSync(path, "utf8")) as Python;
  return existsSync(python.path) ? python : undefined;
}

/** A folder with the files of a copy, ready to be the store. */
async function duplicate(folder: WarehouseFolder, copy: string): Promise<string> {
  const fresh = await openScratch(folder, "data.new");
  for (const name of copyNames) {
    const [from, to] = [join(copy, name), join(fresh, name)];
    // Copies from before the library was noted in them have no mark.
    if (name === libraryMark && !existsSync(from)) continue;
    await copyFile(from, to);
    giveTo(folder, to, 0o660);
  }
  return fresh;
}
