/** Writes objects into memory. */
import { createHash } from "node:crypto";
import type { Entry, Upload, WriteCall } from "../../backend.ts";
import { StorageError } from "../../errors.ts";
import type { MemoryObjects } from "./objects.ts";

export function putObject(objects: MemoryObjects, key: string, bytes: Uint8Array, call: WriteCall): Entry {
  call.signal?.throwIfAborted();
  checkConditions(objects, key, call);
  const entry: Entry = {
    path: key,
    size: bytes.length,
    etag: createHash("md5").update(bytes).digest("hex"),
    version: "",
    is_latest: true,
    last_modified: new Date(),
    type: "file",
  };
  // A copy, because the caller may reuse its buffer; `slice` of a Buffer would not copy.
  objects.set(key, { bytes: new Uint8Array(bytes), entry });
  return { ...entry };
}

function checkConditions(objects: MemoryObjects, key: string, { ifMatch, ifNoneMatch }: WriteCall): void {
  const etag = objects.get(key)?.entry.etag;
  const refused = (ifNoneMatch !== undefined && etag !== undefined) || (ifMatch !== undefined && ifMatch !== etag);
  if (refused)
    throw new StorageError(
      "precondition",
      `memory://${key}: ${ifMatch === undefined ? "the object already exists" : `the object was replaced or removed: its ETag is no longer ${ifMatch}; read the object again`}`,
      {
        scheme: "memory",
        key,
      },
    );
}

export function beginUpload(objects: MemoryObjects, key: string, call: WriteCall): Upload {
  const parts: Uint8Array[] = [];
  return {
    async put(part, bytes) {
      parts[part - 1] = new Uint8Array(bytes);
    },
    finish: async () => putObject(objects, key, Buffer.concat(parts), call),
    abort: async () => {},
  };
}
