/** The backend of `sftp://`. A key is a path from the root, without the leading slash. */
import type { Backend } from "../../backend.ts";
import { defaultRetryPolicy } from "../../concurrency/retry.ts";
import type { OpenRequest } from "../../scheme.ts";
import { sequentialTransfer } from "../../transfer/sequential-upload.ts";
import { moveFile, removeFile, removeTree } from "./change.ts";
import { listTree } from "./list.ts";
import { connectionOf } from "./login.ts";
import type { parameters } from "./parameters.ts";
import { readFile, statFile } from "./read.ts";
import { Session } from "./session.ts";
import { beginUpload, putFile } from "./write.ts";

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const session = new Session(location.bucket, () => connectionOf(location, configuration), defaultRetryPolicy);
  return {
    transfer: sequentialTransfer(defaultRetryPolicy),
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
