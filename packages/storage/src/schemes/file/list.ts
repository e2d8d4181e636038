/** Lists folders. */
import type { Dirent } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { isTemporaryName } from "../../address/temporary-name.ts";
import type { Entry, ListCall } from "../../backend.ts";
import { mapInOrder } from "../../concurrency/window.ts";
import { directoryEntry } from "../../entry.ts";
import { isStorageError, StorageError } from "../../errors.ts";
import { compareKeys } from "../../listing/key-order.ts";
import { named } from "./errors.ts";
import { statFile } from "./read.ts";

const looksAtOnce = 32;

/**
 * Lists files and folders whose keys begin with the prefix. If the prefix ends inside a name, lists the folder before
 * that name and leaves out names that do not match.
 */
export async function* listFiles(prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
  if (call.delimiter !== undefined && call.delimiter !== "/") {
    throw new StorageError(
      "unsupported",
      `file:// supports only the delimiter /, got ${JSON.stringify(call.delimiter)}`,
      { scheme: "file" },
    );
  }
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  yield* listFolder(folder, prefix, call);
}

/** Lists a folder in the byte order of keys. The key of a folder ends with a slash, which counts for the order. */
async function* listFolder(folder: string, prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
  call.signal?.throwIfAborted();
  const paths = await pathsIn(folder, prefix, call.followLinks ?? true);
  const wanted = paths.filter((path) => mayFollow(path, call.startAfter)).sort(compareKeys);
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

/**
 * Whether to list a path. A path before `startAfter` is listed only if it is a folder that may contain keys after
 * `startAfter`.
 */
const mayFollow = (path: string, startAfter: string | undefined) =>
  startAfter === undefined || compareKeys(path, startAfter) > 0 || (path.endsWith("/") && startAfter.startsWith(path));

/**
 * Returns the paths of the files and folders in a folder. Paths of folders end with a slash. Leaves out everything
 * else, and files that are still being written.
 */
async function pathsIn(folder: string, prefix: string, followLinks: boolean): Promise<string[]> {
  const paths = new Set<string>();
  const unsure: string[] = [];
  for (const child of await readFolder(folder)) {
    const path = folder + child.name;
    if (!path.startsWith(prefix) || (isTemporaryName(child.name) && !child.isDirectory())) continue;
    if (child.isSymbolicLink() || isDoubtful(child.name)) unsure.push(path);
    else if (child.isDirectory()) paths.add(`${path}/`);
    else if (child.isFile()) paths.add(path);
  }
  const follow = linksFrom(folder);
  const found = mapInOrder(unsure, looksAtOnce, (path) => named(path, () => follow(path)).catch(missing));
  for await (const path of found) if (path !== undefined && (followLinks || !path.endsWith("/"))) paths.add(path);
  return [...paths];
}

/**
 * Whether a file name may be invalid UTF-8. Node replaces invalid bytes by the character U+FFFD, and the file cannot be
 * opened by the resulting name.
 */
const isDoubtful = (name: string) => name.includes("\uFFFD");

/**
 * Returns a function that takes the path of a symbolic link and returns the same path. If the link leads to a folder,
 * the returned path ends with a slash. Returns undefined if the link leads to a folder that contains the link, because
 * a recursive listing would be endless. Also returns undefined if the link leads to something else, such as a device.
 */
function linksFrom(folder: string): (path: string) => Promise<string | undefined> {
  let around: Promise<string[]> | undefined;
  return async (path) => {
    const stats = await stat(path);
    if (stats.isFile()) return path;
    if (!stats.isDirectory()) return undefined;
    around ??= Promise.all(foldersAround(folder).map((each) => realpath(each)));
    return (await around).includes(await realpath(path)) ? undefined : `${path}/`;
  };
}

/** Returns the folder itself and its parent folders. */
const foldersAround = (folder: string) => Array.from(folder.matchAll(/\//g), ({ index }) => folder.slice(0, index + 1));

function missing(error: unknown): undefined {
  if (!isStorageError(error, "not_found")) throw error;
}

async function readFolder(folder: string): Promise<Dirent[]> {
  return (await named(folder, () => readdir(folder, { withFileTypes: true })).catch(missing)) ?? [];
}

/** Returns the entry of a path, or undefined if the file has disappeared. */
async function look(path: string): Promise<Entry | undefined> {
  if (path.endsWith("/")) return directoryEntry(path);
  return statFile(path, {}).catch(missing);
}
