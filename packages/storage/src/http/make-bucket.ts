/** Making a bucket or a container: that one is there already is told alike, whatever the store calls it. */
import { describePlace, type ErrorPlace, isStorageError, StorageError } from "../errors.ts";
import type { HttpAnswer } from "./messages.ts";

const conflict = 409;

/** Conflicts that pass have a code of their own by now, and are tried again. */
export async function makeBucket(place: ErrorPlace, making: Promise<HttpAnswer>): Promise<void> {
  try {
    await (await making).discard();
  } catch (error) {
    if (!isStorageError(error, "failed") || error.status !== conflict) throw error;
    const { requestId, status } = error;
    const message = `${describePlace(place)} exists already, here or with somebody else: use it, or take another name`;
    throw new StorageError("precondition", message, { ...place, status, requestId, cause: error });
  }
}
