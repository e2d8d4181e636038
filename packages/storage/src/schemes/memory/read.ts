/** Reads the metadata and content of objects in memory. */
import type { Content, Entry, ListCall, ReadCall } from "../../backend.ts";
import { directoryEntry } from "../../entry.ts";
import { StorageError } from "../../errors.ts";
import { compareKeys } from "../../listing/key-order.ts";
import type { MemoryObject, MemoryObjects } from "./objects.ts";

function find(objects: MemoryObjects, key: string): MemoryObject {
  const object = objects.get(key);
  if (object) return object;
  throw new StorageError("not_found", `memory://${key}: the object does not exist`, { scheme: "memory", key });
}

export const statObject = (objects: MemoryObjects, key: string): Entry => ({ ...find(objects, key).entry });

export function readObject(objects: MemoryObjects, key: string, call: ReadCall): Content {
  const { bytes, entry } = find(objects, key);
  if (call.ifMatch !== undefined && call.ifMatch !== entry.etag) {
    throw new StorageError(
      "precondition",
      `memory://${key}: the object was replaced: its ETag is no longer the expected one; read the new object from its start`,
      { scheme: "memory", key },
    );
  }
  const start = Math.min(call.start ?? 0, bytes.length);
  const end = Math.max(start, Math.min(call.end ?? bytes.length, bytes.length));
  // A copy, so that the caller cannot change the object.
  const part = bytes.slice(start, end);
  return { entry: { ...entry }, start, end, body: onePiece(part), bytes: async () => part };
}

async function* onePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}

export function copyObject(objects: MemoryObjects, from: string, to: string): void {
  const { bytes, entry } = find(objects, from);
  objects.set(to, { bytes, entry: { ...entry, path: to, last_modified: new Date() } });
}

export async function* listObjects(objects: MemoryObjects, prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
  call.signal?.throwIfAborted();
  const { delimiter, startAfter } = call;
  const keys = [...objects.keys()].filter((key) => key.startsWith(prefix)).sort(compareKeys);
  const entries = new Map<string, Entry>();
  for (const key of keys) {
    if (startAfter !== undefined && compareKeys(key, startAfter) <= 0) continue;
    const end = delimiter === undefined ? -1 : key.indexOf(delimiter, prefix.length);
    const path = end < 0 ? key : key.slice(0, end + (delimiter as string).length);
    entries.set(path, end < 0 ? statObject(objects, key) : directoryEntry(path));
  }
  yield [...entries.values()];
}
