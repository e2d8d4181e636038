/** Listing folders. */
import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import type { Entry, ListCall } from "../../backend.ts";
import { directoryEntry } from "../../entry.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { compareKeys } from "../../key-order.ts";
import { mapInOrder } from "../../window.ts";
import { named } from "./errors.ts";
import { statFile } from "./read.ts";

const looksAtOnce = 32;

/** The prefix may end inside a name: then the folder before it is listed, and names are compared. */
export async function* listFiles(prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
  if (call.delimiter !== undefined && call.delimiter !== "/") {
    throw new StorageError("unsupported", "folders of files end with / only", { scheme: "file" });
  }
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  yield* listFolder(folder, prefix, call);
}

/** In the order of keys: a folder stands where its name with a slash does. */
async function* listFolder(folder: string, prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
  call.signal?.throwIfAborted();
  const paths = (await readFolder(folder)).map((child) => folder + child.name + (child.isDirectory() ? "/" : ""));
  const wanted = paths.filter((path) => path.startsWith(prefix) && mayFollow(path, call.startAfter)).sort(compareKeys);
  let files: Entry[] = [];
  for await (const entry of mapInOrder(wanted, looksAtOnce, look)) {
    if (entry === undefined) continue;
    const deeper = entry.type === "directory" && call.delimiter === undefined;
    if (!deeper) files.push(entry);
    else {
      if (files.length > 0) yield files;
      files = [];
      yield* listFolder(entry.path, entry.path, call);
    }
  }
  if (files.length > 0) yield files;
}

/** A folder may hold keys after one that it stands before. */
const mayFollow = (path: string, startAfter: string | undefined) =>
  startAfter === undefined || compareKeys(path, startAfter) > 0 || (path.endsWith("/") && startAfter.startsWith(path));

async function readFolder(folder: string): Promise<Dirent[]> {
  try {
    return await named(folder, () => readdir(folder, { withFileTypes: true }));
  } catch (error) {
    if (isStorageError(error, "not_found")) return [];
    throw error;
  }
}

/** Nothing where the file has gone since, or is a link to nowhere. */
async function look(path: string): Promise<Entry | undefined> {
  if (path.endsWith("/")) return directoryEntry(path);
  try {
    return await statFile(path, {});
  } catch (error) {
    if (isStorageError(error, "not_found")) return undefined;
    throw error;
  }
}
