/** Recognizes temporary failures of the infrastructure. Work that fails because of them is retried later. */
import { BlobsUnavailable } from "../blobs/blobs.ts";
import { isDiskFull } from "../machine/disk.ts";
import { isUnavailable } from "../store/drivers/unavailable.ts";

/** Whether the database or blob storage is unreachable, or a disk is full. Such an error must not fail a job or an export. */
export const isPassing = (error: unknown) =>
  isUnavailable(error) || isDiskFull(error) || error instanceof BlobsUnavailable;
