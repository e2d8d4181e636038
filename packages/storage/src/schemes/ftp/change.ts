/** Moves and removes files on FTP servers. */
import type { CallOptions } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";
import { checkDepth } from "../../listing/depth.ts";
import { checkPath, listFolder, pathOf, statFile } from "./list.ts";
import type { Pool } from "./pool.ts";
import { makeFolders, replace } from "./write.ts";

export async function moveFile(pool: Pool, from: string, to: string, call: CallOptions): Promise<void> {
  checkPath(to);
  await statFile(pool, from, call);
  await makeFolders(pool, to, call);
  await pool.run(from, call, (client) => replace(client, from, to));
}

/**
 * Removes a file. If the server refuses, it does not say why, so the file is looked up. If the file exists, the removal
 * has failed. Otherwise there was nothing to remove.
 */
export async function removeFile(pool: Pool, key: string, call: CallOptions): Promise<void> {
  checkPath(key);
  try {
    await pool.run(key, call, (client) => client.remove(pathOf(key)));
  } catch (error) {
    if (!isStorageError(error, "not_found", "permission") || (await isFile(pool, key, call))) throw error;
  }
}

async function isFile(pool: Pool, key: string, call: CallOptions): Promise<boolean> {
  try {
    await statFile(pool, key, call);
    return true;
  } catch (error) {
    if (isStorageError(error, "not_found")) return false;
    throw error;
  }
}

export async function removeTree(pool: Pool, key: string, call: CallOptions): Promise<void> {
  await removeFile(pool, key, call);
  await removeBelow(pool, key, call);
  pool.folders.clear();
}

async function removeBelow(pool: Pool, folder: string, call: CallOptions): Promise<void> {
  checkDepth(folder);
  try {
    const entries = await pool.run(folder, call, (client) => listFolder(client, `${folder}/`));
    for (const { path, type } of entries) {
      if (type === "directory") await removeBelow(pool, path.slice(0, -1), call);
      else await pool.run(path, call, (client) => client.remove(pathOf(path)));
    }
    // Leaves the folder first: a server may refuse to remove its current folder.
    await pool.run(folder, call, async (client) => {
      await client.cd("/");
      await client.removeEmptyDir(pathOf(folder));
    });
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}
