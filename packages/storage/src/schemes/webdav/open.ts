/** The backend of `webdav://` and `webdavs://`. A key is a path from the root, without the leading slash. */
import { addressOf } from "../../address/server-uri.ts";
import type { Location } from "../../address/uri.ts";
import type { Backend } from "../../backend.ts";
import { defaultRetryPolicy } from "../../concurrency/retry.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { readCertificates } from "../../http/certificates.ts";
import { createHttpClient } from "../../http/client.ts";
import type { OpenRequest } from "../../scheme.ts";
import { copyFile, moveFile, removeFile, removeTree } from "./change.ts";
import { DavClient } from "./client.ts";
import { listTree, statFile } from "./list.ts";
import type { parameters } from "./parameters.ts";
import { readFile } from "./read.ts";
import { beginUpload, putFile } from "./write.ts";

const mebibyte = 1024 * 1024;

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const { values } = configuration;
  const http = createHttpClient({
    connections: values.max_connections,
    connectTimeout: values.connection_timeout,
    readTimeout: values.read_timeout,
    verify: values.verify !== false,
    authorities: typeof values.verify === "string" ? readCertificates(values.verify, "webdav", "verify") : undefined,
    verifiedBy: "verify",
  });
  const headers = { ...authorization(location, configuration), ...(values.headers as Record<string, string>) };
  const client = new DavClient({ location, http, headers, retry: defaultRetryPolicy });
  return {
    transfer: {
      partSize: values.block_size,
      minimumPart: 1,
      maximumParts: Number.POSITIVE_INFINITY,
      wholeUpTo: 8 * mebibyte,
      concurrency: values.max_concurrency,
      partsInOrder: true,
      retry: defaultRetryPolicy,
    },
    list: (prefix, call) => listTree(client, prefix, call),
    stat: (key, call) => statFile(client, key, call),
    read: (key, call) => readFile(client, key, call),
    put: (key, bytes, call) => putFile(client, key, bytes, call),
    upload: (key, call) => beginUpload(client, key, call),
    copy: (from, to, call) => copyFile(client, from, to, call),
    move: (from, to, call) => moveFile(client, from, to, call),
    remove: (key, call) => removeFile(client, key, call),
    removeTree: (key, call) => removeTree(client, key, call),
    close: () => client.close(),
  };
}

function authorization(location: Location, { values }: Configuration<typeof parameters>): Record<string, string> {
  if (values.token !== null) return { authorization: `Bearer ${values.token}` };
  const address = addressOf(location);
  const username = values.username ?? address.username;
  if (username === undefined) return {};
  const pair = Buffer.from(`${username}:${values.password ?? address.password ?? ""}`).toString("base64");
  return { authorization: `Basic ${pair}` };
}
