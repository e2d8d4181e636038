/** The backend of a URI without a bucket, such as `s3://`. It can only list the buckets, as folders. */
import type { Backend, CallOptions, ListCall } from "./backend.ts";
import type { RetryPolicy } from "./concurrency/retry.ts";
import { directoryEntry } from "./entry.ts";
import { FolderError, StorageError } from "./errors.ts";

export interface BucketCall extends CallOptions {
  /** Continuation token that the previous page returned. */
  readonly token?: string | undefined;
}

export interface BucketPage {
  readonly names: readonly string[];
  readonly next?: string | undefined;
}

type FetchBuckets = (call: BucketCall) => Promise<BucketPage>;

export function storeBackend(
  scheme: string,
  retry: RetryPolicy,
  fetch: FetchBuckets,
  close: () => Promise<void>,
): Backend {
  const refuse = (why: string) =>
    new StorageError("invalid", `${scheme}:// names no bucket, which this call needs: ${why}`, { scheme });
  const refused = async (): Promise<never> => {
    throw refuse("list the buckets, and open one of them");
  };
  return {
    transfer: { partSize: 1, minimumPart: 1, maximumParts: 1, wholeUpTo: 1, concurrency: 1, retry },
    list(prefix, call) {
      if (!call.delimiter) throw refuse("open a bucket for a recursive listing");
      if (prefix.includes("/")) throw refuse("open the bucket to list its contents");
      return pagesOf(fetch, prefix, call);
    },
    async stat(key) {
      if (key !== "") return refused();
      throw new FolderError({ scheme, key: `${scheme}://` });
    },
    read: refused,
    put: refused,
    upload: refused,
    remove: refused,
    removeTree: refused,
    presign: refused,
    createBucket: refused,
    close,
  };
}

async function* pagesOf(fetch: FetchBuckets, prefix: string, { startAfter = "", signal }: ListCall) {
  let token: string | undefined;
  do {
    const { names, next } = await fetch({ token, signal });
    const wanted = names.filter((name) => name.startsWith(prefix) && `${name}/` > startAfter);
    yield wanted.sort().map((name) => directoryEntry(`${name}/`));
    token = next === token ? undefined : next;
  } while (token);
}
