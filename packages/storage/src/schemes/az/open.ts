/** The backend of `az://`. */
import type { Backend } from "../../backend.ts";
import { defaultRetryPolicy } from "../../concurrency/retry.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { createHttpClient, type HttpClient } from "../../http/client.ts";
import { withExplainedConditions } from "../../http/explained-conditions.ts";
import { listByFolders } from "../../listing/folder-listing.ts";
import type { OpenRequest } from "../../scheme.ts";
import { storeBackend } from "../../store-backend.ts";
import { accountOf } from "./account.ts";
import { AzClient } from "./client.ts";
import { concurrencyOf } from "./concurrency.ts";
import { createContainer, withContainerCheck } from "./container.ts";
import { fetchContainers } from "./containers.ts";
import { copyBlob } from "./copy.ts";
import { fetchPage } from "./list.ts";
import type { parameters } from "./parameters.ts";
import { presignBlob } from "./presign.ts";
import { readBlob, statBlob } from "./read.ts";
import { removeAtOnce, removeBlob, removeBlobs } from "./remove.ts";
import { createSessionClient } from "./request-session.ts";
import { BlockUpload, putBlob } from "./write.ts";

const mebibyte = 1024 * 1024;
const defaultBlock = 8 * mebibyte;
const usualConnections = 64;
const mostBlocks = 50_000;

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const account = accountOf(configuration, location);
  const concurrency = concurrencyOf(configuration, configuration.values.blocksize ?? defaultBlock);
  const http = createClient(configuration, concurrency);
  const container = location.bucket;
  const client = new AzClient({ account, container, configuration, http, retry: defaultRetryPolicy });
  if (container === "") {
    return storeBackend(
      "az",
      client.retryPolicy,
      (call) => fetchContainers(client, call),
      () => client.close(),
    );
  }
  return withContainerCheck(
    client,
    withExplainedConditions(backendOf(client, concurrency), (key) => client.place(key)),
  );
}

function createClient({ values }: Configuration<typeof parameters>, concurrency: number): HttpClient {
  if (values.request_session !== null) return createSessionClient(values.request_session);
  return createHttpClient({
    // Every block in transfer needs a connection of its own.
    connections: Math.max(usualConnections, concurrency),
    connectTimeout: values.connection_timeout ?? 20,
    readTimeout: values.read_timeout ?? 60,
  });
}

function backendOf(client: AzClient, concurrency: number): Backend {
  const { blocksize } = client.configuration.values;
  const partSize = blocksize ?? defaultBlock;
  return {
    transfer: {
      partSize,
      minimumPart: 1,
      maximumParts: mostBlocks,
      wholeUpTo: partSize,
      concurrency,
      retry: client.retryPolicy,
    },
    list: (prefix, call) => listByFolders((page) => fetchPage(client, page), prefix, call),
    stat: (key, call) => statBlob(client, key, call),
    read: (key, call) => readBlob(client, key, call),
    put: (key, bytes, call) => putBlob(client, key, bytes, call),
    upload: async (key, call) => new BlockUpload(client, key, call),
    copy: (from, to, call) => copyBlob(client, from, to, call),
    remove: (key, call) => removeBlob(client, key, call),
    removeMany: (keys, call) => removeBlobs(client, keys, call),
    removeAtOnce,
    presign: (key, call) => presignBlob(client, key, call),
    createBucket: (call) => createContainer(client, call),
    close: () => client.close(),
  };
}
