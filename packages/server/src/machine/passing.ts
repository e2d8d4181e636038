/** Recognizes temporary failures of the infrastructure. Work that fails because of them is retried later. */
import { BlobsUnavailable } from "../blobs/blobs.ts";
import { isDiskFull } from "../machine/disk.ts";
import { isUnavailable, WriteConflict } from "../store/drivers/unavailable.ts";

/**
 * Whether an error is temporary: the database or blob storage is unreachable, a disk is full, or a write kept
 * conflicting with other writes. Such an error must not fail a job or an export.
 */
export const isPassing = (error: unknown) =>
  isUnavailable(error) || isDiskFull(error) || error instanceof BlobsUnavailable || error instanceof WriteConflict;
