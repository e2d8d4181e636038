/** Folders beside a team's store for whoever looks after it, and how one becomes the store. */
import { chmodSync, chownSync, mkdirSync, renameSync } from "node:fs";
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import { StoreUnusable } from "./store-processes.ts";
import type { TeamFolder } from "./team-folder.ts";

/** Empty, with the rights of the store. */
export async function openScratch(folder: TeamFolder, name: string): Promise<string> {
  if (!folder.exists()) throw new StoreUnusable("The team has no dataset store yet.");
  const path = folder.file(name);
  await rm(path, { recursive: true, force: true });
  mkdirSync(path, { mode: 0o700 });
  giveTo(folder, path, 0o700);
  return path;
}

export function giveTo(folder: TeamFolder, path: string, mode: number): void {
  const group = folder.group();
  chmodSync(path, mode);
  if (group !== undefined) chownSync(path, group, group);
}

/**
 * The store goes to `old`, where only its own user can enter, and `fresh` takes its place. Killed in between, the store
 * is gone from its place, and is in `old`.
 */
export function replaceStore(folder: TeamFolder, fresh: string, old: string): void {
  mkdirSync(dirname(old), { recursive: true, mode: 0o711 });
  chmodSync(folder.data, 0o700);
  renameSync(folder.data, old);
  putInPlace(folder, fresh);
}

/** Where no store is. */
export function putInPlace(folder: TeamFolder, fresh: string): void {
  renameSync(fresh, folder.data);
  chmodSync(folder.data, folder.group() === undefined ? 0o700 : 0o2770);
  folder.markMade();
}
