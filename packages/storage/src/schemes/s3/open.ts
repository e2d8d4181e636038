/** The backend of `s3://`, put together from its calls. */
import { readFileSync } from "node:fs";
import type { Backend } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import { createHttpClient } from "../../http/client.ts";
import { listPages } from "../../listing.ts";
import { defaultRetryPolicy } from "../../retry.ts";
import type { OpenRequest } from "../../scheme.ts";
import { S3Client } from "./client.ts";
import { copyObject } from "./copy.ts";
import { fetchPage } from "./list.ts";
import { beginUpload } from "./multipart.ts";
import type { parameters } from "./parameters.ts";
import { presignObject } from "./presign.ts";
import { readObject, statObject } from "./read.ts";
import { removeObject, removeObjects } from "./remove.ts";
import { putObject } from "./write.ts";

const mebibyte = 1024 * 1024;
const smallestPart = 5 * mebibyte;

function readCertificates(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new StorageError("config", `client_kwargs.verify: ${(cause as Error).message}`, { scheme: "s3", cause });
  }
}

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const { values } = configuration;
  const retry = { ...defaultRetryPolicy, attempts: values["config_kwargs.retries.max_attempts"] };
  const verify = values["client_kwargs.verify"];
  const http = createHttpClient({
    connections: values["config_kwargs.max_pool_connections"],
    connectTimeout: values["config_kwargs.connect_timeout"],
    readTimeout: values["config_kwargs.read_timeout"],
    verify: verify !== false,
    authorities: typeof verify === "string" ? readCertificates(verify) : undefined,
  });
  const client = new S3Client(location.bucket, configuration, http, retry);
  const partSize = values.default_block_size ?? smallestPart;
  return {
    transfer: {
      partSize,
      minimumPart: smallestPart,
      maximumParts: 10_000,
      wholeUpTo: Math.max(partSize, smallestPart),
      concurrency: values.max_concurrency,
      retry,
    },
    removeAtOnce: 1000,
    list: (prefix, call) => listPages((page) => fetchPage(client, page), prefix, call),
    stat: (key, call) => statObject(client, key, call),
    read: (key, call) => readObject(client, key, call),
    put: (key, bytes, call) => putObject(client, key, bytes, call),
    upload: (key, call) => beginUpload(client, key, call),
    copy: (from, to, call) => copyObject(client, from, to, call),
    remove: (key, call) => removeObject(client, key, call),
    removeMany: (keys, call) => removeObjects(client, keys, call),
    presign: (key, call) => presignObject(client, key, call),
    close: () => client.close(),
  };
}
