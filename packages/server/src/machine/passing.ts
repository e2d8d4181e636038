/** Failures that say nothing about the work: it is done later, as it is. */
import { BlobsUnavailable } from "../blobs/blobs.ts";
import { isDiskFull } from "../machine/disk.ts";
import { isUnavailable } from "../store/drivers/unavailable.ts";

/** Whether the store or the storage of blobs cannot be reached, or a disk is full. No job, tick or export may fail for that. */
export const isPassing = (error: unknown) =>
  isUnavailable(error) || isDiskFull(error) || error instanceof BlobsUnavailable;
