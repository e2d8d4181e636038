/** The backend of `s3://`. */
import type { Backend } from "../../backend.ts";
import { createHttpClient } from "../../http/client.ts";
import { withExplainedConditions } from "../../http/explained-conditions.ts";
import { listPages } from "../../listing/listing.ts";
import type { OpenRequest } from "../../scheme.ts";
import { storeBackend } from "../../store-backend.ts";
import { createBucket } from "./bucket.ts";
import { fetchBuckets } from "./buckets.ts";
import { S3Client } from "./client.ts";
import { copyObject } from "./copy.ts";
import { fetchPage } from "./list.ts";
import { beginUpload } from "./multipart.ts";
import type { parameters } from "./parameters.ts";
import { presignObject } from "./presign.ts";
import { readObject, statObject } from "./read.ts";
import { removeObject, removeObjects } from "./remove.ts";
import { retryPolicyOf, transportOf } from "./transport.ts";
import { putObject } from "./write.ts";

const mebibyte = 1024 * 1024;
const smallestPart = 5 * mebibyte;

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const retry = retryPolicyOf(configuration);
  const http = createHttpClient(transportOf(configuration));
  const client = new S3Client(location.bucket, configuration, http, retry);
  if (location.bucket === "") {
    return storeBackend(
      "s3",
      retry,
      (call) => fetchBuckets(client, call),
      () => client.close(),
    );
  }
  return withExplainedConditions(backendOf(client), (key) => client.place(key));
}

function backendOf(client: S3Client): Backend {
  const { values } = client.configuration;
  const partSize = values.default_block_size ?? smallestPart;
  return {
    transfer: {
      partSize,
      minimumPart: smallestPart,
      maximumParts: 10_000,
      wholeUpTo: Math.max(partSize, smallestPart),
      concurrency: values.max_concurrency,
      retry: client.retryPolicy,
    },
    removeAtOnce: 1000,
    list: (prefix, call) => listPages((page) => fetchPage(client, page), prefix, call),
    stat: (key, call) => statObject(client, key, call),
    read: (key, call) => readObject(client, key, call),
    put: (key, bytes, call) => putObject(client, key, bytes, call),
    upload: (key, call) => beginUpload(client, key, call),
    copy: (from, to, call) => copyObject(client, from, to, call),
    copiesBetweenBuckets: true,
    remove: (key, call) => removeObject(client, key, call),
    removeMany: (keys, call) => removeObjects(client, keys, call),
    presign: (key, call) => presignObject(client, key, call),
    createBucket: (call) => createBucket(client, call),
    close: () => client.close(),
  };
}
