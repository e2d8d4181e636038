/** Lists folders and reads the metadata of files on WebDAV servers. */
import { checkTreePath } from "../../address/tree-path.ts";
import type { CallOptions, Entry, ListCall } from "../../backend.ts";
import { FolderError, isStorageError, StorageError } from "../../errors.ts";
import { listFolders } from "../../listing/directory-listing.ts";
import type { DavClient } from "./client.ts";
import { properties } from "./properties.ts";

export const checkPath = (key: string) => checkTreePath("webdav", key);

export const listTree = (client: DavClient, prefix: string, call: ListCall): AsyncGenerator<Entry[]> =>
  listFolders("webdav", (folder, options) => readFolder(client, folder, options), prefix, call);

/** Lists a folder. The server's answer also contains an entry for the listed path itself, which is left out. */
async function* readFolder(client: DavClient, folder: string, call: CallOptions): AsyncGenerator<Entry[]> {
  try {
    const entries = await properties(client, folder, 1, call);
    yield entries.filter(({ path }) => path.startsWith(folder) && path !== folder);
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}

/** Returns the file or folder at a key. */
export async function lookUp(client: DavClient, key: string, call: CallOptions): Promise<Entry> {
  if (key !== "") checkPath(key);
  const [entry] = await properties(client, key, 0, call);
  if (entry) return entry;
  throw new StorageError(
    "failed",
    `${key}: the server's answer contains no properties of this file or folder`,
    client.place(key),
  );
}

export async function statFile(client: DavClient, key: string, call: CallOptions): Promise<Entry> {
  const entry = await lookUp(client, key, call);
  if (entry.type === "file") return { ...entry, path: key };
  throw new FolderError(client.place(key));
}
