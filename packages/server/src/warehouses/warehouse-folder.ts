/**
 * Folder of a team's warehouse: an outer folder that only the server uses, and in it the `data` folder that the team's
 * jobs share through a group. The server creates `data` but never opens a file in it.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { giveToNobody } from "../engines/nobodys-user.ts";

const isRoot = process.getuid?.() === 0;

/** Returns the paths of the metadata database and the rows database. */
export const warehouseFiles = (data: string) => ({ metadata: join(data, "metadata.db"), rows: join(data, "rows.db") });

/** File that names the library version which last wrote the warehouse; jobs maintain it. */
export const libraryMark = "library";

/** Names of the files in a copy of a warehouse. */
export const copyNames = ["metadata.db", "rows.db", libraryMark] as const;

/**
 * The folder with the warehouses of all teams (`teams`), and the folder with the compile cache of the child processes
 * (`compiled`).
 */
export interface WarehouseFolders {
  readonly teams: string;
  readonly compiled: string;
}

export class WarehouseFolder {
  /** Outer folder, used only by the server. */
  readonly path: string;
  /** Inner folder, shared by the team's jobs. */
  readonly data: string;

  constructor(warehousesDir: string, teamId: number) {
    this.path = join(warehousesDir, String(teamId));
    this.data = join(this.path, "data");
  }

  file(name: string): string {
    return join(this.path, name);
  }

  get metadata(): string {
    return warehouseFiles(this.data).metadata;
  }

  get rows(): string {
    return warehouseFiles(this.data).rows;
  }

  exists(): boolean {
    return existsSync(this.data);
  }

  /**
   * Returns the group id of the warehouse, which is chosen when the folder is created. Returns undefined if the server
   * does not run as root: then the server's own user owns the warehouse.
   */
  group(): number | undefined {
    return isRoot ? lstatSync(this.data).gid : undefined;
  }

  /** Whether a job has ever used the warehouse. If so, the warehouse's files must exist. */
  isMade(): boolean {
    return existsSync(this.file("made"));
  }

  markMade(): void {
    if (!this.isMade()) writeFileSync(this.file("made"), "", { mode: 0o600 });
  }

  /**
   * Creates the folder. It gets its final name only after its permissions are set, so that nobody uses it with wrong
   * permissions.
   */
  make(): void {
    if (this.exists()) return;
    mkdirSync(this.path, { recursive: true, mode: 0o711 });
    // A folder from a restored backup may have stricter permissions.
    chmodSync(this.path, 0o711);
    const draft = this.file("data.new");
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    if (isRoot) giveToNobody(draft, groupsBelow(dirname(this.path)));
    chmodSync(draft, isRoot ? 0o2770 : 0o700);
    renameSync(draft, this.data);
  }
}

/** Returns the group ids that other teams' warehouses use. Each warehouse needs a group id of its own. */
const groupsBelow = (warehousesDir: string) =>
  new Set(
    readdirSync(warehousesDir).flatMap(
      (team) => lstatSync(join(warehousesDir, team, "data"), { throwIfNoEntry: false })?.gid ?? [],
    ),
  );
