/**
 * Files that are attached to a job. A job can read them only if they are on this machine. Files at a storage URI are
 * downloaded before the job is claimed, so that the job takes no slot while the storage is unreachable.
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

export const fileGone = "A file attached to the job no longer exists. Upload the file again and create a new job.";

/**
 * Thrown if a job's downloaded files were deleted from this machine before the job started. The job is queued again and
 * the files are downloaded again.
 */
export class FilesNotHere extends Error {
  constructor() {
    super("The copies of the job's files were deleted before the job started.");
  }
}

/**
 * Returns whether all files of the job are on this machine. Ignores files that have no row in the store. A job with
 * such a file fails later, when it starts.
 */
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

/** The time limit of a download is this many milliseconds, plus the time that its bytes take at `slowRate`. */
const leastMs = 60_000;
/** Slowest accepted download rate, in bytes per millisecond. */
const slowRate = 256;

/** Downloads the files of a queued job to this machine. Throws BlobMissing if a file does not exist. */
export async function fetchJobFiles(db: Db, blobs: Blobs, jobId: string): Promise<void> {
  for (const { blob, size } of await filesOf(db, jobId))
    await blobs.fetch(uploadName(blob), { size, atMost: Math.ceil(leastMs + size / slowRate) });
}

/**
 * Returns how many bytes of disk space a queued job's files still need. All files are copied to the working folder of
 * the job; those that are not on this machine yet are downloaded before that.
 */
export async function neededBytes(db: Db, blobs: Blobs, jobId: string): Promise<number> {
  let bytes = 0;
  for (const { blob, size } of await filesOf(db, jobId))
    bytes += (await blobs.copyOf(uploadName(blob))) === undefined ? 2 * size : size;
  return bytes;
}

/**
 * Returns the local files of a job that starts, in the order in which the job lists them. Makes no request to the
 * storage.
 */
export const localFiles = (blobs: Blobs, files: readonly FileRow[]): Promise<JobFile[]> =>
  Promise.all(
    files.map(async ({ blob, filename }) => {
      const path = await blobs.copyOf(uploadName(blob));
      if (path !== undefined) return fileAt(path, filename);
      throw blobs.isLocal ? new CannotStart(fileGone) : new FilesNotHere();
    }),
  );
