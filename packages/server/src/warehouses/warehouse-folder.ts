/**
 * Where a team's warehouse lies: a folder that is the server's own, and in it one that the team's jobs share by its group.
 * The server makes that one and never opens anything in it.
 */
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { giveToNobody } from "../engines/nobodys-user.ts";

const isRoot = process.getuid?.() === 0;

/** What is known of datasets, and their rows. */
export const warehouseFiles = (data: string) => ({ metadata: join(data, "metadata.db"), rows: join(data, "rows.db") });

/** Names the library that last wrote the warehouse; jobs keep it. */
export const libraryMark = "library";

/** What a copy of a warehouse holds. */
export const copyNames = ["metadata.db", "rows.db", libraryMark] as const;

/** Where the warehouses of all teams lie, and what opens them. */
export interface WarehouseFolders {
  readonly teams: string;
  readonly compiled: string;
}

export class WarehouseFolder {
  /** The server's own. */
  readonly path: string;
  /** The team's. */
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

  /** Chosen once, when the folder is made, and told by it ever after; undefined: the server's own user has it. */
  group(): number | undefined {
    return isRoot ? lstatSync(this.data).gid : undefined;
  }

  /** A job has worked with the store: from then on it must be there. */
  isMade(): boolean {
    return existsSync(this.file("made"));
  }

  markMade(): void {
    if (!this.isMade()) writeFileSync(this.file("made"), "", { mode: 0o600 });
  }

  /** Under another name first: nobody sees it before its rights are right. */
  make(): void {
    if (this.exists()) return;
    mkdirSync(this.path, { recursive: true, mode: 0o711 });
    // One that a restored backup brought along is closed.
    chmodSync(this.path, 0o711);
    const draft = this.file("data.new");
    rmSync(draft, { recursive: true, force: true });
    mkdirSync(draft, { mode: 0o700 });
    if (isRoot) giveToNobody(draft, groupsBelow(dirname(this.path)));
    chmodSync(draft, isRoot ? 0o2770 : 0o700);
    renameSync(draft, this.data);
  }
}

/** Of other teams: no two share one. */
const groupsBelow = (warehousesDir: string) =>
  new Set(
    readdirSync(warehousesDir).flatMap(
      (team) => lstatSync(join(warehousesDir, team, "data"), { throwIfNoEntry: false })?.gid ?? [],
    ),
  );
