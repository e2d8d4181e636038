/** The blobs of a server, and where it keeps the logs of ended attempts. */
import type { Blobs } from "../blobs/blobs.ts";
import { claimBlobs, openBlobs } from "../blobs/open-blobs.ts";
import type { Config } from "../configuration/config.ts";
import { LogArchive } from "../job-logs/log-archive.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import type { Faults } from "../machine/faults.ts";
import type { Part } from "./part.ts";

export async function claimedBlobs(folder: DataFolder, config: Config, serverId: string): Promise<Blobs> {
  const location = folder.blobs(config);
  const blobs = await openBlobs(location);
  await claimBlobs(blobs, location, serverId);
  return blobs;
}

/** Logs of ended attempts stay where the engine keeps them, unless blobs lie elsewhere. */
export const logArchive = (folder: DataFolder, blobs: Blobs, faults: Faults): LogArchive | undefined =>
  blobs.isLocal
    ? undefined
    : new LogArchive(
        blobs,
        (key) => folder.attemptFile(key, "log"),
        () => faults.pass("log-stored"),
      );

/** Started after the loops, and so stopped before them: a loop that waits for the storage ends, and goes on at the next start. */
export const closedBlobs = (blobs: Blobs): Part => ({ start: async () => {}, stop: () => blobs.close() });
