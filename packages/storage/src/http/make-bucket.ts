/** Creates a bucket or container, and reports an existing one the same way for all stores. */
import { describePlace, type ErrorPlace, isStorageError, StorageError } from "../errors.ts";
import type { HttpAnswer } from "./messages.ts";

const conflict = 409;

/**
 * Waits for the request that creates a bucket. If the request fails with a conflict, throws an error that says that the
 * bucket exists. Temporary conflicts have another error code; they were retried before, and are thrown unchanged.
 */
export async function makeBucket(place: ErrorPlace, making: Promise<HttpAnswer>): Promise<void> {
  try {
    await (await making).discard();
  } catch (error) {
    if (!isStorageError(error, "failed") || error.status !== conflict) throw error;
    const { requestId, status } = error;
    const message = `${describePlace(place)} already exists, in your account or in another one; use it if it is yours, or choose another name`;
    throw new StorageError("precondition", message, { ...place, status, requestId, cause: error });
  }
}
