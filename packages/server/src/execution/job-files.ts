/**
 * The files attached to a job. A job starts from files on this machine, so files at a storage URI are fetched before the
 * job is claimed: while the storage is away, no slot is held for them.
 */
import { uploadName } from "../blobs/blob-names.ts";
import type { Blobs } from "../blobs/blobs.ts";
import { filesOfJob } from "../domain/jobs/files.ts";
import { readSpec } from "../domain/lifecycle/job-documents.ts";
import { CannotStart, type JobFile } from "../engines/engine.ts";
import type { Db } from "../store/drivers/store.ts";
import type { FileRow } from "../store/queries/jobs/files.ts";
import { getJob } from "../store/queries/jobs/jobs.ts";
import { fileAt } from "./job-file.ts";

export const fileGone = "A file attached to the job no longer exists. Upload it again and create a new job.";

/** Thrown at a start whose files were fetched and are gone from this machine since. They are fetched again. */
export class FilesNotHere extends Error {
  constructor() {
    super("The copies of the job's files were deleted before it started.");
  }
}

/** Whether the job can start without the storage. A file whose row is gone counts: the start fails for it. */
export async function areFilesHere(db: Db, blobs: Blobs, jobId: string): Promise<boolean> {
  if (blobs.isLocal) return true;
  for (const { blob } of await filesOf(db, jobId))
    if ((await blobs.copyOf(uploadName(blob))) === undefined) return false;
  return true;
}

async function filesOf(db: Db, jobId: string): Promise<FileRow[]> {
  const job = await getJob(db, jobId);
  return job ? filesOfJob(db, readSpec(job).files) : [];
}

/** A download may take this long, and as long as its bytes take at a slow rate, in bytes per millisecond. */
const leastMs = 60_000;
const slowRate = 256;

/** Fetches the files of a waiting job to this machine. Throws BlobMissing if one does not exist. */
export async function fetchJobFiles(db: Db, blobs: Blobs, jobId: string): Promise<void> {
  for (const { blob, size } of await filesOf(db, jobId))
    await blobs.fetch(uploadName(blob), { atMost: Math.ceil(leastMs + size / slowRate) });
}

/** Returns the files for the start, in the order in which the job lists them. Asks no storage. */
export const localFiles = (blobs: Blobs, files: readonly FileRow[]): Promise<JobFile[]> =>
  Promise.all(
    files.map(async ({ blob, filename }) => {
      const path = await blobs.copyOf(uploadName(blob));
      if (path !== undefined) return fileAt(path, filename);
      throw blobs.isLocal ? new CannotStart(fileGone) : new FilesNotHere();
    }),
  );
