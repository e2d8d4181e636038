/** Copies, moves and removes files and folders on the server, without transferring their content. */
import type { CallOptions, Entry } from "../../backend.ts";
import { isStorageError } from "../../errors.ts";
import type { DavClient } from "./client.ts";
import { checkPath, lookUp, statFile } from "./list.ts";
import { destination, moveOver, withFolders } from "./write.ts";

export async function copyFile(client: DavClient, from: string, to: string, call: CallOptions): Promise<void> {
  checkPath(to);
  await statFile(client, from, call);
  const copy = { method: "COPY", key: from, headers: destination(client, to), signal: call.signal };
  await withFolders(client, to, call, () => client.sendAway(copy));
}

export async function moveFile(client: DavClient, from: string, to: string, call: CallOptions): Promise<void> {
  checkPath(to);
  await statFile(client, from, call);
  await withFolders(client, to, call, () => moveOver(client, from, to, call));
}

/** Removes a file. The type is checked first, because DELETE would also remove a folder with its contents. */
export async function removeFile(client: DavClient, key: string, call: CallOptions): Promise<void> {
  const entry = await lookUpIfThere(client, key, call);
  if (entry?.type === "file") await remove(client, key, call);
}

export async function removeTree(client: DavClient, key: string, call: CallOptions): Promise<void> {
  const entry = await lookUpIfThere(client, key, call);
  if (entry) await remove(client, entry.type === "file" ? key : `${key}/`, call);
  client.folders.clear();
}

async function lookUpIfThere(client: DavClient, key: string, call: CallOptions): Promise<Entry | undefined> {
  try {
    return await lookUp(client, key, call);
  } catch (error) {
    if (isStorageError(error, "not_found")) return undefined;
    throw error;
  }
}

async function remove(client: DavClient, key: string, { signal }: CallOptions): Promise<void> {
  try {
    await client.sendAway({ method: "DELETE", key, signal });
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}
