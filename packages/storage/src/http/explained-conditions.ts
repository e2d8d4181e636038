/**
 * Wraps a backend so that errors say which condition failed and what that means. Stores only say that a condition
 * failed.
 */
import type { Backend, ReadCall, WriteCall } from "../backend.ts";
import { describePlace, type ErrorPlace, isStorageError, StorageError } from "../errors.ts";

type Conditions = Pick<ReadCall & WriteCall, "ifMatch" | "ifNoneMatch">;

export function withExplainedConditions(backend: Backend, placeOf: (key: string) => ErrorPlace): Backend {
  const explained = async <T>(key: string, call: Conditions, work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw isStorageError(error, "precondition") ? explain(error, placeOf(key), call) : error;
    }
  };
  const run = <T>(key: string, call: Conditions, work: Promise<T>) =>
    call.ifMatch === undefined && call.ifNoneMatch === undefined ? work : explained(key, call, work);
  return {
    ...backend,
    read: (key, call) => run(key, call, backend.read(key, call)),
    put: (key, bytes, call) => run(key, call, backend.put(key, bytes, call)),
    async upload(key, call) {
      const upload = await run(key, call, backend.upload(key, call));
      return {
        put: (part, bytes) => upload.put(part, bytes),
        finish: () => run(key, call, upload.finish()),
        abort: () => upload.abort(),
      };
    },
  };
}

function explain(error: StorageError, place: ErrorPlace, { ifMatch }: Conditions): StorageError {
  const why =
    ifMatch === undefined
      ? "the object already exists, or is being written"
      : `the object was replaced or removed: its ETag is no longer ${ifMatch}; read the object again`;
  const { status, requestId } = error;
  const details = { ...place, requestId, cause: error, ...(status === undefined ? {} : { status }) };
  return new StorageError("precondition", `${describePlace(place)}: ${why}`, details);
}
