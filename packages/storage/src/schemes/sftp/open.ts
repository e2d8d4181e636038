/** The backend of `sftp://`. A key is a path from the root, without its slash. */
import type { Backend } from "../../backend.ts";
import { defaultRetryPolicy } from "../../retry.ts";
import type { OpenRequest } from "../../scheme.ts";
import { moveFile, removeFile, removeTree } from "./change.ts";
import { listTree } from "./list.ts";
import { connectionOf } from "./login.ts";
import type { parameters } from "./parameters.ts";
import { readFile, statFile } from "./read.ts";
import { Session } from "./session.ts";
import { beginUpload, putFile } from "./write.ts";

const mebibyte = 1024 * 1024;

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const session = new Session(location.bucket, () => connectionOf(location, configuration), defaultRetryPolicy);
  return {
    transfer: {
      partSize: 4 * mebibyte,
      minimumPart: 1,
      maximumParts: Number.POSITIVE_INFINITY,
      wholeUpTo: 8 * mebibyte,
      concurrency: 1,
      partsInOrder: true,
      retry: defaultRetryPolicy,
    },
    list: (prefix, call) => listTree(session, prefix, call),
    stat: (key, call) => statFile(session, key, call),
    read: (key, call) => readFile(session, key, call),
    put: (key, bytes, call) => putFile(session, key, bytes, call),
    upload: (key, call) => beginUpload(session, key, call),
    move: (from, to, call) => moveFile(session, from, to, call),
    remove: (key, call) => removeFile(session, key, call),
    removeTree: (key, call) => removeTree(session, key, call),
    close: () => session.close(),
  };
}
