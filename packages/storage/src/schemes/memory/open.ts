/** The backend of `memory://`. */
import type { Backend } from "../../backend.ts";
import type { MemoryObjects } from "./objects.ts";
import { copyObject, listObjects, readObject, statObject } from "./read.ts";
import { beginUpload, putObject } from "./write.ts";

/** All `memory://` storages of this process share these objects, as programs share a disk. */
const objects: MemoryObjects = new Map();

export function open(): Backend {
  return {
    transfer: {
      partSize: 1024 * 1024,
      minimumPart: 1,
      maximumParts: Number.POSITIVE_INFINITY,
      wholeUpTo: Number.POSITIVE_INFINITY,
      concurrency: 1,
      retry: { attempts: 1, firstPause: 0, growth: 1, longestPause: 0 },
    },
    list: (prefix, call) => listObjects(objects, prefix, call),
    stat: async (key) => statObject(objects, key),
    read: async (key, call) => readObject(objects, key, call),
    put: async (key, bytes, call) => putObject(objects, key, bytes, call),
    upload: async (key, call) => beginUpload(objects, key, call),
    copy: async (from, to) => copyObject(objects, from, to),
    remove: async (key) => void objects.delete(key),
    close: async () => {},
  };
}
