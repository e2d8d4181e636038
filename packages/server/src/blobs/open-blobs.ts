/** Which blobs, by what the operator gave; and that nobody else uses them. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { serverFolder } from "./blob-names.ts";
import { BlobMissing, type Blobs, BlobsUnavailable } from "./blobs.ts";
import { type BlobFolders, FolderBlobs } from "./folder-blobs.ts";

export interface BlobsLocation {
  /** A storage URI; empty: the folder. */
  readonly uri: string;
  /** Where the storage library looks for credentials and other parameters. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where blobs lie without a URI, by the first part of their names. */
  readonly folders: BlobFolders;
  /** Copies of blobs that lie at a URI. */
  readonly copies: string;
  /** A file that says at which URI the blobs of this data folder are. */
  readonly mark: string;
}

export async function openBlobs({ uri, environment, folders, copies }: BlobsLocation): Promise<Blobs> {
  if (uri === "") return new FolderBlobs(folders);
  const [{ openStorage }, { UriBlobs }] = await Promise.all([import("@millrace/storage"), import("./uri-blobs.ts")]);
  return new UriBlobs(openStorage(uri, undefined, { environment }), copies);
}

/**
 * Refuses blobs of another server, whose files this one would take for forgotten ones and remove, and another place than
 * before, where the files of its jobs are not.
 */
export async function claimBlobs(blobs: Blobs, location: BlobsLocation, serverId: string): Promise<void> {
  const wasOurs = await refuseAnotherPlace(location);
  if (location.uri === "") return;
  const owner = await readOwner(blobs).catch((error: unknown) => {
    // A server that used them before starts all the same: jobs that it finds go on, and the storage comes back.
    if (wasOurs && error instanceof BlobsUnavailable) return serverId;
    throw error;
  });
  if (owner !== undefined && owner !== serverId)
    throw refusal(
      `Another Millrace keeps its files at ${location.uri} (MILLRACE_BLOBS).`,
      `choose another URI; if that server is gone for good, remove the object ${ownerName} there`,
    );
  if (owner === undefined) await blobs.put(ownerName, Readable.from([Buffer.from(serverId)]));
  await writeFile(location.mark, `${location.uri}\n`, { mode: 0o600 });
}

/** Holds the id of the server. */
const ownerName = `${serverFolder}owner`;

/** Returns whether this data folder has used them before. */
async function refuseAnotherPlace({ uri, folders, mark }: BlobsLocation): Promise<boolean> {
  const before = (await readFile(mark, "utf8").catch(() => "")).trim();
  if (before === uri) return true;
  if (before === "" && (await readdir(folders.files).catch(() => [])).length === 0) return false;
  const say = (place: string) => place || "the data folder";
  throw refusal(
    `The files of this server are in ${say(before)}, and MILLRACE_BLOBS names ${say(uri)}.`,
    "set MILLRACE_BLOBS as it was; to move the files take a backup, and restore it with the new setting",
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
