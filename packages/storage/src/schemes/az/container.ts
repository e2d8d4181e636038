/** Creates the container. Also checks that the container exists, unless `assume_container_exists` is true. */
import type { Backend, CallOptions } from "../../backend.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { makeBucket } from "../../http/make-bucket.ts";
import type { AzClient } from "./client.ts";

const query = { restype: "container" };

export async function createContainer(client: AzClient, { signal }: CallOptions): Promise<void> {
  await makeBucket(client.place(""), client.send({ method: "PUT", key: "", query, signal }));
}

/**
 * Rejects if the container's properties cannot be read. If the container does not exist, the code of the error is
 * `config`, because callers would take `not_found` for a missing object.
 */
async function lookForContainer(client: AzClient): Promise<void> {
  try {
    await (await client.send({ method: "HEAD", key: "", query })).discard();
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
    const { requestId, status = 404, message } = error;
    throw new StorageError("config", `${message}: the container does not exist; create it, or check its name`, {
      ...client.place(""),
      requestId,
      status,
    });
  }
}

/**
 * Returns a backend that checks whether the container exists. If `assume_container_exists` is true, there is no check.
 * If it is false, calls wait for the check, and a failed check is an error. If it is unset, calls do not wait, and a
 * failed check is a warning.
 */
export function withContainerCheck(client: AzClient, backend: Backend): Backend {
  const { assume_container_exists } = client.configuration.values;
  if (assume_container_exists === true) return backend;
  if (assume_container_exists === false)
    return afterLook(
      backend,
      keepSuccess(() => lookForContainer(client)),
    );
  let closed = false;
  const warn = (error: Error) => {
    const message = `the check of the container failed, but requests are sent all the same: ${error.message}`;
    if (!closed) process.emitWarning(message, "StorageWarning");
  };
  let looked = false;
  const close = () => {
    closed = true;
    return backend.close();
  };
  const look = async () => {
    if (looked) return;
    looked = true;
    void lookForContainer(client).catch(warn);
  };
  return { ...afterLook(backend, look), close };
}

/** Returns a function that runs the check only once. If the check fails, the next call runs it again. */
function keepSuccess(look: () => Promise<void>): () => Promise<void> {
  let looking: Promise<void> | undefined;
  return () => {
    looking ??= look().catch((error: unknown) => {
      looking = undefined;
      throw error;
    });
    return looking;
  };
}

/** Returns a backend whose calls wait for `look` if they need the container. */
function afterLook(backend: Backend, look: () => Promise<void>): Backend {
  const after =
    <Words extends unknown[], T>(call: (...words: Words) => Promise<T>) =>
    async (...words: Words): Promise<T> => {
      await look();
      return call(...words);
    };
  return {
    ...backend,
    async *list(prefix, call) {
      await look();
      yield* backend.list(prefix, call);
    },
    stat: after(backend.stat),
    read: after(backend.read),
    put: after(backend.put),
    upload: after(backend.upload),
    remove: after(backend.remove),
    ...(backend.copy && { copy: after(backend.copy) }),
    ...(backend.removeMany && { removeMany: after(backend.removeMany) }),
  };
}
