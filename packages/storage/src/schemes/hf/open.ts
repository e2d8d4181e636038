/** The backend of `hf://`. */
import type { Backend } from "../../backend.ts";
import { defaultRetryPolicy } from "../../concurrency/retry.ts";
import { createHttpClient } from "../../http/client.ts";
import type { OpenRequest } from "../../scheme.ts";
import { copyFile, moveFile, removeFile, removeTree } from "./change.ts";
import { HubClient } from "./client.ts";
import { type Changes, GatheredChanges, ImmediateChanges } from "./commit.ts";
import { listTree, statFile } from "./list.ts";
import type { parameters } from "./parameters.ts";
import { readFile } from "./read.ts";
import { tokenOf } from "./token.ts";
import { beginUpload, putBytes } from "./write.ts";

const publicEndpoint = "https://huggingface.co";
const mebibyte = 1024 * 1024;

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const http = createHttpClient({ connections: 32, connectTimeout: 60, readTimeout: 60 });
  const endpoint = (configuration.values.endpoint ?? publicEndpoint).replace(/\/+$/, "");
  const token = tokenOf(configuration);
  const client = new HubClient({ location, endpoint, token, http, retry: defaultRetryPolicy });
  return {
    ...backendOf(new ImmediateChanges(client)),
    batch(call) {
      const changes = new GatheredChanges(client, call);
      return { backend: { ...backendOf(changes), close: async () => {} }, finish: () => changes.commit() };
    },
  };
}

const backendOf = (changes: Changes): Backend => ({
  transfer: {
    partSize: 8 * mebibyte,
    minimumPart: 1,
    maximumParts: Number.POSITIVE_INFINITY,
    // Bytes in memory are written in one call, whatever their size, because they need no temporary file.
    wholeUpTo: Number.POSITIVE_INFINITY,
    concurrency: 1,
    partsInOrder: true,
    retry: defaultRetryPolicy,
  },
  list: (prefix, call) => listTree(changes.client, prefix, call),
  stat: (key, call) => statFile(changes.client, key, call),
  read: (key, call) => readFile(changes.client, key, call),
  put: (key, bytes, call) => putBytes(changes, key, bytes, call),
  upload: (key, call) => beginUpload(changes, key, call),
  copy: (from, to, call) => copyFile(changes, from, to, call),
  move: (from, to, call) => moveFile(changes, from, to, call),
  remove: (key, call) => removeFile(changes, key, call),
  removeTree: (key, call) => removeTree(changes, key, call),
  close: () => changes.client.close(),
});
