/** Writes files on WebDAV servers: in one request, or as a stream to a temporary name. */
import { PassThrough } from "node:stream";
import { foldersOf, temporaryKey } from "../../address/tree-path.ts";
import type { CallOptions, Entry, Upload, WriteCall } from "../../backend.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import type { DavClient } from "./client.ts";
import { conflict } from "./errors.ts";
import { checkPath, statFile } from "./list.ts";
import { properties } from "./properties.ts";

export async function putFile(client: DavClient, key: string, bytes: Uint8Array, call: WriteCall): Promise<Entry> {
  checkPath(key);
  if (conditionsOf(call)) await refuseIfIgnored(client, key, call);
  await withFolders(client, key, call, () => put(client, key, bytes, call));
  return statFile(client, key, call);
}

const put = (client: DavClient, key: string, body: Uint8Array, call: WriteCall) =>
  client.sendAway({ method: "PUT", key, headers: conditionsOf(call) ?? {}, body, signal: call.signal });

function conditionsOf({ ifMatch, ifNoneMatch }: WriteCall): Record<string, string> | undefined {
  if (ifMatch !== undefined) return { "if-match": `"${ifMatch}"` };
  return ifNoneMatch === undefined ? undefined : { "if-none-match": ifNoneMatch };
}

/**
 * Throws if the server ignores the conditions of writes, as some servers do. This is tested once, before the first
 * conditional write.
 */
async function refuseIfIgnored(client: DavClient, key: string, call: CallOptions): Promise<void> {
  client.heedsConditions ??= await heedsConditions(client, key, call);
  if (client.heedsConditions) return;
  throw new StorageError(
    "unsupported",
    "this server ignores If-Match and If-None-Match on writes, so a conditional write is not possible; write without a condition",
    client.place(key),
  );
}

async function heedsConditions(client: DavClient, key: string, { signal }: CallOptions): Promise<boolean> {
  const probe = temporaryKey(key);
  await withFolders(client, key, { signal }, () => put(client, probe, new Uint8Array(), { signal }));
  try {
    await put(client, probe, new Uint8Array(), { signal, ifNoneMatch: "*" });
    return false;
  } catch (error) {
    if (isStorageError(error, "precondition")) return true;
    throw error;
  } finally {
    await client.sendAway({ method: "DELETE", key: probe }).catch(() => {});
  }
}

/**
 * Creates missing parent folders, and then runs work that writes a file. The folders are checked before the write,
 * because servers react in different ways to a missing folder. Folders that are known to exist are not checked.
 */
export async function withFolders(
  client: DavClient,
  key: string,
  call: CallOptions,
  work: () => Promise<void>,
): Promise<void> {
  await makeFolders(client, key, call);
  try {
    await work();
  } catch (error) {
    const isGone = isStorageError(error) && (error.status === conflict || error.status === 404);
    if (!isGone) throw error;
    client.folders.clear();
    await makeFolders(client, key, call);
    await work();
  }
}

async function makeFolders(client: DavClient, key: string, call: CallOptions): Promise<void> {
  const folders = foldersOf(key);
  const parent = folders.at(-1);
  if (parent === undefined || client.folders.has(parent)) return;
  if (!(await isThere(client, `${parent}/`, call)))
    for (const folder of folders) await makeFolder(client, folder, call);
  for (const folder of folders) client.folders.add(folder);
}

async function isThere(client: DavClient, key: string, call: CallOptions): Promise<boolean> {
  try {
    return (await properties(client, key, 0, call)).length > 0;
  } catch (error) {
    if (isStorageError(error, "not_found")) return false;
    throw error;
  }
}

/**
 * Creates a folder. An answer with an error status is ignored, because a server refuses to create a folder that exists
 * (405). If the folder is really missing, writing the file fails.
 */
async function makeFolder(client: DavClient, folder: string, { signal }: CallOptions): Promise<void> {
  if (client.folders.has(folder)) return;
  await client.sendAway({ method: "MKCOL", key: `${folder}/`, signal }).catch((error: unknown) => {
    if (!isStorageError(error) || error.code === "network") throw error;
  });
}

export async function beginUpload(client: DavClient, key: string, call: WriteCall): Promise<Upload> {
  checkPath(key);
  if (conditionsOf(call)) {
    throw new StorageError(
      "unsupported",
      "webdav:// does not support ifMatch and ifNoneMatch for streams; write all bytes at once",
      client.place(key),
    );
  }
  const temporary = temporaryKey(key);
  // Writes an empty file first, which creates missing folders. A stream could not be sent a second time after a
  // failure.
  await withFolders(client, key, call, () => put(client, temporary, new Uint8Array(), call));
  const source = new PassThrough();
  const sent = client.sendAway({ method: "PUT", key: temporary, stream: source, signal: call.signal });
  // If the request fails, the source stream is destroyed too, so that no write to it waits for ever.
  sent.catch((error: Error) => source.destroy(error));
  return {
    async put(_part, bytes) {
      const written = Promise.withResolvers<void>();
      // A copy, because the caller reuses its buffer.
      source.write(Buffer.from(bytes), (error) => (error ? written.reject(error) : written.resolve()));
      await Promise.race([written.promise, sent]);
    },
    async finish() {
      source.end();
      await sent;
      await moveOver(client, temporary, key, call);
      return statFile(client, key, call);
    },
    async abort() {
      source.destroy();
      await sent.catch(() => {});
      await client.sendAway({ method: "DELETE", key: temporary });
    },
  };
}

export const moveOver = (client: DavClient, from: string, to: string, call: CallOptions) =>
  client.sendAway({ method: "MOVE", key: from, headers: destination(client, to), signal: call.signal });

export const destination = (client: DavClient, to: string) => ({
  destination: client.origin + client.pathOf(to),
  overwrite: "T",
});
