/** Creates temporary folders beside a team's warehouse, and replaces the warehouse with one of them. */
import { chmodSync, chownSync, mkdirSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { WarehouseFolder } from "./warehouse-folder.ts";
import { WarehouseUnusable } from "./warehouse-processes.ts";

/** Creates an empty folder with the permissions of the warehouse. An existing folder of the same name is replaced. */
export async function openScratch(folder: WarehouseFolder, name: string): Promise<string> {
  if (!folder.exists())
    throw new WarehouseUnusable(
      "The team's warehouse is missing. An admin of the team can replace the warehouse with its newest daily copy.",
    );
  const path = folder.file(name);
  await rm(path, { recursive: true, force: true });
  mkdirSync(path, { mode: 0o700 });
  giveTo(folder, path, 0o700);
  return path;
}

export function giveTo(folder: WarehouseFolder, path: string, mode: number): void {
  const group = folder.group();
  chmodSync(path, mode);
  if (group !== undefined) chownSync(path, group, group);
}

/**
 * Moves the warehouse to `old`, which only the warehouse's own user can enter, and puts `fresh` in its place. If the
 * server is killed in between, the warehouse is missing but intact in `old`.
 */
export function replaceWarehouse(folder: WarehouseFolder, fresh: string, old: string): void {
  mkdirSync(dirname(old), { recursive: true, mode: 0o711 });
  chmodSync(folder.data, 0o700);
  renameSync(folder.data, old);
  putInPlace(folder, fresh);
}

/** Makes a folder the team's warehouse. The team must have no warehouse yet. */
export function putInPlace(folder: WarehouseFolder, fresh: string): void {
  renameSync(fresh, folder.data);
  chmodSync(folder.data, folder.group() === undefined ? 0o700 : 0o2770);
  folder.markMade();
}
