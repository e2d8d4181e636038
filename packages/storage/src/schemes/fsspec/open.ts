/** The backend of all fsspec schemes. */
import type { Backend } from "../../backend.ts";
import { defaultRetryPolicy } from "../../concurrency/retry.ts";
import type { OpenRequest } from "../../scheme.ts";
import { sequentialTransfer } from "../../transfer/sequential-upload.ts";
import { copyFile, moveFile, removeFile, removeTree } from "./change.ts";
import { listTree, statFile } from "./list.ts";
import type { parameters } from "./parameters.ts";
import { Place } from "./place.ts";
import { readFile } from "./read.ts";
import type { BridgedUri } from "./uri.ts";
import { beginUpload, putFile } from "./write.ts";

export function open(
  { location, configuration }: OpenRequest<typeof parameters>,
  bridged: BridgedUri,
  hasFolders: boolean,
): Backend {
  const place = new Place(location, bridged, configuration, hasFolders);
  return {
    transfer: sequentialTransfer(defaultRetryPolicy),
    list: (prefix, call) => listTree(place, prefix, call),
    stat: (key, call) => statFile(place, key, call),
    read: (key, call) => readFile(place, key, call),
    put: (key, bytes, call) => putFile(place, key, bytes, call),
    upload: (key, call) => beginUpload(place, key, call),
    copy: (from, to, call) => copyFile(place, from, to, call),
    move: (from, to, call) => moveFile(place, from, to, call),
    remove: (key, call) => removeFile(place, key, call),
    ...(hasFolders ? ({ removeTree: (key, call) => removeTree(place, key, call) } satisfies Partial<Backend>) : {}),
    close: () => place.close(),
  };
}
