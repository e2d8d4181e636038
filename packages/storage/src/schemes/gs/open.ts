/** The backend of `gs://`. */
import type { Backend } from "../../backend.ts";
import { defaultRetryPolicy } from "../../concurrency/retry.ts";
import { createHttpClient } from "../../http/client.ts";
import { withExplainedConditions } from "../../http/explained-conditions.ts";
import { listPages } from "../../listing/listing.ts";
import type { OpenRequest } from "../../scheme.ts";
import { storeBackend } from "../../store-backend.ts";
import { createBucket } from "./bucket.ts";
import { fetchBuckets } from "./buckets.ts";
import { GsClient } from "./client.ts";
import { copyObject } from "./copy.ts";
import { fetchPage } from "./list.ts";
import { withMetadataCache } from "./metadata-cache.ts";
import type { parameters } from "./parameters.ts";
import { presignObject } from "./presign.ts";
import { readObject, statObject } from "./read.ts";
import { removeAtOnce, removeObject, removeObjects } from "./remove.ts";
import { beginUpload, partUnit } from "./resumable-upload.ts";
import { sessionSettings } from "./session.ts";
import { putObject } from "./write.ts";

const mebibyte = 1024 * 1024;

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const { values } = configuration;
  const http = createHttpClient(sessionSettings(configuration));
  const client = new GsClient(location.bucket, configuration, http, defaultRetryPolicy);
  if (location.bucket === "") {
    const { retryPolicy } = client;
    return storeBackend(
      "gs",
      retryPolicy,
      (call) => fetchBuckets(client, call),
      () => client.close(),
    );
  }
  const backend = withExplainedConditions(backendOf(client), (key) => client.place(key));
  const seconds = values.cache_timeout ?? Number.POSITIVE_INFINITY;
  return seconds > 0 ? withMetadataCache(backend, seconds) : backend;
}

const backendOf = (client: GsClient): Backend => ({
  transfer: {
    partSize: 8 * mebibyte,
    minimumPart: partUnit,
    maximumParts: Number.POSITIVE_INFINITY,
    wholeUpTo: 8 * mebibyte,
    concurrency: 8,
    partsInOrder: true,
    retry: client.retryPolicy,
  },
  list: (prefix, call) => listPages((page) => fetchPage(client, page), prefix, call),
  stat: (key, call) => statObject(client, key, call),
  read: (key, call) => readObject(client, key, call),
  put: (key, bytes, call) => putObject(client, key, bytes, call),
  upload: (key, call) => beginUpload(client, key, call),
  copy: (from, to, call) => copyObject(client, from, to, call),
  remove: (key, call) => removeObject(client, key, call),
  removeMany: (keys, call) => removeObjects(client, keys, call),
  removeAtOnce,
  presign: (key, call) => presignObject(client, key, call),
  createBucket: (call) => createBucket(client, call),
  close: () => client.close(),
});
