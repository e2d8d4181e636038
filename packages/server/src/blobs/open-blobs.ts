/** Opens the blobs that the operator configured, and makes sure that no other server uses them. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { ownerName } from "./blob-names.ts";
import { BlobMissing, type Blobs, BlobsUnavailable } from "./blobs.ts";
import { type BlobFolders, FolderBlobs } from "./folder-blobs.ts";
import type { LocalFiles } from "./uri-blobs.ts";

export interface BlobsLocation extends LocalFiles {
  /** Storage URI; empty means the local folders. */
  readonly uri: string;
  /** Environment variables with the credentials and parameters of the storage library. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Path of the local folder for each kind of blob; used if `uri` is empty. */
  readonly folders: BlobFolders;
}

export async function openBlobs({ uri, environment, folders, copies, mark }: BlobsLocation): Promise<Blobs> {
  if (uri === "") return new FolderBlobs(folders);
  const [{ openStorage }, { UriBlobs }] = await Promise.all([import("@millrace/storage"), import("./uri-blobs.ts")]);
  return new UriBlobs(openStorage(uri, undefined, { environment }), { copies, mark });
}

/**
 * Throws if the blobs belong to another server, because this server would delete them as files without an owner. Also
 * throws if the location has changed since the last start, because the files of existing jobs are still at the earlier
 * location.
 */
export async function claimBlobs(blobs: Blobs, location: BlobsLocation, serverId: string): Promise<void> {
  const wasOurs = await refuseAnotherPlace(location);
  if (location.uri === "") return;
  const owner = await readOwner(blobs).catch((error: unknown) => {
    // A server that has used these blobs before starts anyway: running jobs continue, and the storage may come back.
    if (wasOurs && error instanceof BlobsUnavailable) return serverId;
    throw error;
  });
  if (owner !== undefined && owner !== serverId)
    throw refusal(
      `Another Millrace server stores its files at ${location.uri} (MILLRACE_BLOBS).`,
      `set MILLRACE_BLOBS to another URI; if the other server no longer exists, delete the object ${ownerName} at this URI`,
    );
  if (owner === undefined) await blobs.put(ownerName, Readable.from([Buffer.from(serverId)]));
  await writeFile(location.mark, `${location.uri}\n`, { mode: 0o600 });
}

/**
 * Throws if this data folder has its blobs at another location. Returns whether the data folder has used this location
 * before.
 */
async function refuseAnotherPlace({ uri, folders, mark }: BlobsLocation): Promise<boolean> {
  const before = (await readFile(mark, "utf8").catch(() => "")).trim();
  if (before === uri) return true;
  if (before === "" && (await readdir(folders.files).catch(() => [])).length === 0) return false;
  const say = (place: string) => place || "the data folder";
  throw refusal(
    `The files of this server are in ${say(before)}, but MILLRACE_BLOBS now selects ${say(uri)}.`,
    "set MILLRACE_BLOBS to its previous value; to move the files, create a backup and restore it with the new setting",
  );
}

const refusal = (message: string, next: string) => Object.assign(new Error(message), { next });

async function readOwner(blobs: Blobs): Promise<string | undefined> {
  const found = await blobs.open(ownerName).catch((error: unknown) => {
    if (error instanceof BlobMissing) return undefined;
    throw error;
  });
  if (!found) return undefined;
  return (await found.read(0, 100).finally(() => found.close())).toString();
}
