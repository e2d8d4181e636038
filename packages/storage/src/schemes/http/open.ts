/** The backend of `http://` and `https://`. */
import type { Backend } from "../../backend.ts";
import { defaultRetryPolicy } from "../../concurrency/retry.ts";
import { StorageError } from "../../errors.ts";
import { createHttpClient } from "../../http/client.ts";
import type { OpenRequest } from "../../scheme.ts";
import type { parameters } from "./parameters.ts";
import { readResource, statResource, type WebServer } from "./read.ts";

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const { values } = configuration;
  const http = createHttpClient({
    connections: 64,
    connectTimeout: values.connection_timeout,
    readTimeout: values.read_timeout,
  });
  const server: WebServer = {
    http,
    location,
    headers: values.headers as Record<string, string>,
    retry: defaultRetryPolicy,
  };
  return {
    transfer: {
      partSize: values.block_size,
      minimumPart: 1,
      maximumParts: Number.POSITIVE_INFINITY,
      wholeUpTo: 0,
      concurrency: values.max_concurrency,
      retry: defaultRetryPolicy,
    },
    list: () => refuse(),
    stat: (key, call) => statResource(server, key, call),
    read: (key, call) => readResource(server, key, call),
    put: async () => refuse(),
    upload: async () => refuse(),
    remove: async () => refuse(),
    close: () => http.close(),
  };
}

function refuse(): never {
  throw new StorageError("unsupported", "http:// is read-only: files cannot be written, copied or removed", {
    scheme: "http",
  });
}
