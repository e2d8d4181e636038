/** Opens the blob storage of a server and the archive of logs of ended attempts. */
import type { Blobs } from "../blobs/blobs.ts";
import { claimBlobs, openBlobs } from "../blobs/open-blobs.ts";
import type { Config } from "../configuration/config.ts";
import { LogArchive } from "../job-logs/log-archive.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import type { Faults } from "../machine/faults.ts";
import type { Part } from "./part.ts";

/** Opens the blob storage and claims it for this server. Throws if another server uses it. */
export async function claimedBlobs(folder: DataFolder, config: Config, serverId: string): Promise<Blobs> {
  const location = folder.blobs(config);
  const blobs = await openBlobs(location);
  await claimBlobs(blobs, location, serverId);
  return blobs;
}

/**
 * Returns the archive that moves logs of ended attempts to a remote blob storage. Returns undefined if blobs are in the
 * data folder, because the logs are already there.
 */
export const logArchive = (folder: DataFolder, blobs: Blobs, faults: Faults): LogArchive | undefined =>
  blobs.isLocal
    ? undefined
    : new LogArchive(
        blobs,
        (key) => folder.attemptFile(key, "log"),
        () => faults.pass("log-stored"),
      );

/**
 * Returns a part that closes the blob storage when the server stops. The part starts after the loops and so stops
 * before them. Closing the storage interrupts loops that wait for it; they continue their work at the next start of the
 * server.
 */
export const closedBlobs = (blobs: Blobs): Part => ({ start: async () => {}, stop: () => blobs.close() });
