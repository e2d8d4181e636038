/** The backend of `ftp://` and `ftps://`. A key is a path from the root, without the leading slash. */
import type { Backend } from "../../backend.ts";
import { defaultRetryPolicy } from "../../concurrency/retry.ts";
import type { OpenRequest } from "../../scheme.ts";
import { sequentialTransfer } from "../../transfer/sequential-upload.ts";
import { moveFile, removeFile, removeTree } from "./change.ts";
import { listTree, statFile } from "./list.ts";
import type { parameters } from "./parameters.ts";
import { Pool } from "./pool.ts";
import { readFile } from "./read.ts";
import { beginUpload, putFile } from "./write.ts";

export function open({ location, configuration }: OpenRequest<typeof parameters>): Backend {
  const pool = new Pool(location, configuration, defaultRetryPolicy);
  return {
    transfer: sequentialTransfer(defaultRetryPolicy),
    list: (prefix, call) => listTree(pool, prefix, call),
    stat: (key, call) => statFile(pool, key, call),
    read: (key, call) => readFile(pool, key, call),
    put: (key, bytes, call) => putFile(pool, key, bytes, call),
    upload: (key, call) => beginUpload(pool, key, call),
    move: (from, to, call) => moveFile(pool, from, to, call),
    remove: (key, call) => removeFile(pool, key, call),
    removeTree: (key, call) => removeTree(pool, key, call),
    close: async () => pool.close(),
  };
}
