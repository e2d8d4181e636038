/**
 * Manages the teams' warehouses: creates them for jobs that use the dataset library, reads the results of each job,
 * copies the warehouses daily, and collects garbage while they are idle.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { copyFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { collectGarbage } from "../datachain/garbage-collection.ts";
import { diskUsage } from "../engines/disk-usage.ts";
import type { Python, WarehousePlace, WarehousePlaces } from "../engines/warehouse-view.ts";
import { currentAsker, requireStillThere } from "../turns/asker.ts";
import { Turns } from "../turns/turns.ts";
import { Changes } from "./changes.ts";
import { makeRoomFor } from "./copy-names.ts";
import { lengthWithLog, slack } from "./file-length.ts";
import type { CollectRequest } from "./programs/collect.ts";
import type { CopyRequest } from "./programs/copy-warehouse.ts";
import type { EditRequest } from "./programs/edit-dataset.ts";
import type { RowsRequest } from "./programs/export-rows.ts";
import type { PageRequest } from "./programs/read-rows.ts";
import type { RemoveRequest } from "./programs/remove-versions.ts";
import { giveTo, openScratch, putInPlace, replaceWarehouse } from "./scratch.ts";
import { copyNames, libraryMark, WarehouseFolder, type WarehouseFolders, warehouseFiles } from "./warehouse-folder.ts";
import { type Confine, type ConfineStrangers, WarehouseProcesses, WarehouseUnusable } from "./warehouse-processes.ts";

export { WarehouseBusy, WarehouseUnusable } from "./warehouse-processes.ts";

/** Time limits of the child processes in seconds. */
const patience = { collect: 120, copy: 3600, tidy: 900, list: 300, export: 600, change: 120, read: 20 };

/** A copy that can be restored: a daily copy, or a warehouse that an earlier restore replaced. */
export interface WarehouseCopy {
  readonly moment: string;
  readonly kind: "daily" | "replaced";
}

/** Functions that run commands in a sandbox. */
export interface Confinement {
  readonly confine: Confine;
  readonly confineStrangers: ConfineStrangers;
}

export class Warehouses implements WarehousePlaces {
  readonly #warehousesDir: string;
  readonly #processes: WarehouseProcesses;
  readonly #confineStrangers: ConfineStrangers;
  readonly #changes = new Changes();
  readonly #reads = new Changes("requests for rows of the team's datasets");
  /** Limits the processes that read rows, of all teams. */
  readonly #readers = new Turns(8);

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

  /** Returns the paths of a team's warehouse for a job; creates the warehouse if there is none. */
  use(teamId: number): WarehousePlace {
    const folder = this.#folder(teamId);
    folder.make();
    // Not awaited: the spare child is ready when the job ends.
    void this.#processes.prepare().then(() => this.#processes.expect(folder));
    const { data, metadata, rows } = folder;
    return { folder: data, group: folder.group(), metadata, rows, made: folder.isMade() };
  }

  /**
   * Records the Python interpreter that last used the warehouse, because garbage collection needs the same version of
   * the library.
   */
  remember(teamId: number, python: Python): void {
    writeFileSync(this.#folder(teamId).file("python"), JSON.stringify(python), { mode: 0o600 });
  }

  /**
   * Records in the warehouse how a job ended, and returns what the job did there. The answer is untrusted, because jobs
   * can write anything to the warehouse.
   */
  async collect(teamId: number, request: CollectRequest): Promise<Buffer[]> {
    const folder = this.#folder(teamId);
    const found = await this.#processes.askLines(folder, { program: "collect", request, seconds: patience.collect });
    folder.markMade();
    return found;
  }

  /** Writes some rows of a version to the export file at `path`. */
  async exportRows(teamId: number, request: RowsRequest, path: string): Promise<void> {
    // SQLite sorts unordered rows in a temporary file.
    const longestFile = 2 * this.length(teamId) + slack;
    const task = { program: "export-rows", request, seconds: patience.export, longestFile };
    const folder = this.#folder(teamId);
    if (!folder.exists())
      throw new WarehouseUnusable(
        "The rows cannot be exported: the team's warehouse is missing. An admin of the team can replace the warehouse with its newest daily copy.",
      );
    await this.#processes.fill(folder, task, path);
  }

  /** Reads some rows of a version. The answer is untrusted. */
  async readRows(teamId: number, request: PageRequest): Promise<unknown> {
    const longestFile = 2 * this.length(teamId) + slack;
    const task = { program: "read-rows", request, seconds: patience.read, longestFile };
    const folder = this.#folder(teamId);
    if (!folder.exists())
      throw new WarehouseUnusable(
        "The rows cannot be read: the team's warehouse is missing. An admin of the team can replace the warehouse with its newest daily copy.",
      );
    const asker = currentAsker();
    return this.#reads.inTurn(teamId, () =>
      this.#readers.run(async () => {
        requireStillThere(asker);
        return this.#processes.ask(folder, task);
      }, teamId),
    );
  }

  async editDataset(teamId: number, request: EditRequest): Promise<void> {
    await this.#change(teamId, "edit-dataset", request);
  }

  async removeVersions(teamId: number, request: RemoveRequest): Promise<void> {
    await this.#change(teamId, "remove-versions", request);
  }

  /** Runs a program that changes the warehouse. Does nothing if the team has no warehouse. */
  async #change(teamId: number, program: string, request: unknown): Promise<void> {
    const folder = this.#folder(teamId);
    const task = { program, request, seconds: patience.change };
    if (folder.exists()) await this.#changes.inTurn(teamId, () => this.#processes.ask(folder, task));
  }

  close(): void {
    this.#processes.close();
  }

  /**
   * Returns the disk usage of the warehouse in bytes, including other files that jobs put there, but without copies.
   */
  async bytes(teamId: number): Promise<number> {
    const folder = this.#folder(teamId);
    return folder.exists() ? diskUsage([folder.data]) : 0;
  }

  /**
   * Returns the length of the warehouse's files in bytes, which is what a copy may take on disk. Jobs can create sparse
   * files, which take less disk space than their length.
   */
  length(teamId: number): number {
    const { metadata, rows } = this.#folder(teamId);
    return lengthWithLog(metadata) + lengthWithLog(rows);
  }

  /**
   * Copies the warehouse, and deletes all copies but the newest `keep`. The copy is named by its time, `moment`. If a
   * fast clock gave older copies later names, these are renamed, so that the new copy has the newest name.
   */
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

  /** Returns the times of the daily copies, newest first. */
  async copies(teamId: number): Promise<string[]> {
    const names = await readdir(this.#folder(teamId).file("copies")).catch(() => [] as string[]);
    return names.sort().reverse();
  }

  /** Returns the times of the replaced warehouses that are still kept, newest first. */
  async replaced(teamId: number): Promise<string[]> {
    const names = await readdir(this.#folder(teamId).file("replaced")).catch(() => [] as string[]);
    return names.sort().reverse();
  }

  async forgetReplaced(teamId: number, moment: string): Promise<void> {
    await rm(join(this.#folder(teamId).file("replaced"), moment), { recursive: true, force: true });
  }

  /**
   * Replaces the warehouse by a copy, and returns the uuids of the versions in the copy. No job may be using the
   * warehouse. The old warehouse is kept in the folder `replaced`, with the time `now` as its name.
   */
  async restore(teamId: number, { moment, kind }: WarehouseCopy, now: string): Promise<string[]> {
    const folder = this.#folder(teamId);
    const isGone = !folder.exists();
    // A replaced warehouse is moved back unchanged, including its write-ahead logs.
    const back = join(folder.file("replaced"), moment);
    if (isGone && kind === "replaced") {
      putInPlace(folder, back);
      return this.#versions(folder, folder.data);
    }
    folder.make();
    const fresh = kind === "replaced" ? back : await duplicate(folder, join(folder.file("copies"), moment));
    // Read first, so that an unreadable copy does not replace the present warehouse.
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

  /** Frees the disk space of removed versions. No job of the team may be running. */
  async compact(teamId: number): Promise<void> {
    // Compacting makes the files shorter; the limit stops a corrupt index from growing them without end.
    const longestFile = 2 * this.length(teamId) + 64 * 1024 * 1024;
    const task = { program: "compact-warehouse", request: {}, seconds: patience.tidy, longestFile };
    await this.#processes.ask(this.#folder(teamId), task);
  }

  /** Runs the library's own garbage collection; no job of the team may be running. Returns its output. */
  async tidy(teamId: number): Promise<string> {
    const folder = this.#folder(teamId);
    const python = readPython(folder);
    if (!python) return "nothing was done: the Python interpreter that last used the warehouse no longer exists";
    const scratch = await openScratch(folder, "tidy.new");
    const command = {
      ...collectGarbage(python.path, folder, scratch),
      readable: python.folders,
      writable: [scratch],
      seconds: patience.tidy,
    };
    try {
      // Queued with the changes: afterwards all processes of the warehouse's user are killed, which would end a change
      // as well.
      return await this.#changes.inTurn(teamId, () => this.#processes.run(folder, command, this.#confineStrangers));
    } finally {
      await rm(scratch, { recursive: true, force: true });
    }
  }
}

/** Returns the Python interpreter that last used the warehouse; undefined if it is not known or no longer exists. */
function readPython(folder: WarehouseFolder): Python | undefined {
  const path = folder.file("python");
  if (!existsSync(path)) return undefined;
  const python = JSON.parse(readFileSync(path, "utf8")) as Python;
  return existsSync(python.path) ? python : undefined;
}

/** Copies the files of a daily copy to a new folder with the warehouse's permissions. */
async function duplicate(folder: WarehouseFolder, copy: string): Promise<string> {
  const fresh = await openScratch(folder, "data.new");
  for (const name of copyNames) {
    const [from, to] = [join(copy, name), join(fresh, name)];
    // Copies of older versions have no file that names the library.
    if (name === libraryMark && !existsSync(from)) continue;
    await copyFile(from, to);
    giveTo(folder, to, 0o660);
  }
  return fresh;
}
