/** Folders beside a team's warehouse for whoever looks after it, and how one becomes the warehouse. */
import { chmodSync, chownSync, mkdirSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { WarehouseFolder } from "./warehouse-folder.ts";
import { WarehouseUnusable } from "./warehouse-processes.ts";

/** Empty, with the rights of the store. */
export async function openScratch(folder: WarehouseFolder, name: string): Promise<string> {
  if (!folder.exists()) throw new WarehouseUnusable("The team has no warehouse yet.");
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
 * The warehouse goes to `old`, where only its own user can enter, and `fresh` takes its place. Killed in between, the warehouse
 * is gone from its place, and is in `old`.
 */
export function replaceWarehouse(folder: WarehouseFolder, fresh: string, old: string): void {
  mkdirSync(dirname(old), { recursive: true, mode: 0o711 });
  chmodSync(folder.data, 0o700);
  renameSync(folder.data, old);
  putInPlace(folder, fresh);
}

/** Where no warehouse is. */
export function putInPlace(folder: WarehouseFolder, fresh: string): void {
  renameSync(fresh, folder.data);
  chmodSync(folder.data, folder.group() === undefined ? 0o700 : 0o2770);
  folder.markMade();
}
