/** Copies one file or a tree between any two storages. */
import type { Entry, ReadOptions, Storage, SyncOptions } from "@millrace/storage";
import { usageError } from "../errors.ts";
import type { Output } from "../output.ts";
import { explainUnread, lookUp, type Place } from "./lookup.ts";
import { type Amount, TransferProgress } from "./progress.ts";
import { isBucket, nameOf } from "./uri.ts";
import type { StorageSession } from "./with-storage.ts";

export interface Copy {
  readonly from: string;
  readonly to: string;
  readonly source: Storage;
  readonly target: Storage;
}

export async function copyTree(session: StorageSession, copy: Copy, output: Output): Promise<Amount> {
  const total = output.showsProgress ? await measure(copy.source, session.signal) : undefined;
  const progress = new TransferProgress(output, total);
  await syncFrom(session, copy, {
    all: true,
    onBytes: (bytes) => progress.moved(bytes),
    onAction: () => progress.ended(),
  });
  return progress.done;
}

/** Runs the sync. If FROM is a file, which the library refuses, throws an error that suggests `cp`. */
export async function syncFrom(session: StorageSession, copy: Copy, options: SyncOptions): Promise<void> {
  const { library, signal } = session;
  const { from, to, source, target } = copy;
  try {
    await library.syncTrees(source, target, { ...options, signal });
  } catch (error) {
    if (!library.isStorageError(error, "not_found", "invalid")) throw error;
    const { type } = await lookUp({ uri: from, storage: source }, signal);
    if (type === "directory") throw error;
    throw usageError(`${from} is a file, not a folder`, {
      next: `Copy a single file with cp: millrace storage cp ${from} ${to}`,
    });
  }
}

/** Counts all files in a storage and their bytes. */
export async function measure(storage: Storage, signal: AbortSignal): Promise<Amount> {
  let [files, bytes] = [0, 0];
  for await (const { size } of storage.list({ recursive: true, versions: false, signal })) {
    files += 1;
    bytes += size;
  }
  return { files, bytes };
}

/** Writes the bytes of a file to standard output. */
export async function printFile(place: Place, options: ReadOptions & { signal: AbortSignal }, output: Output) {
  const { signal } = options;
  try {
    for await (const piece of place.storage.readStream("", options)) await output.raw(piece, signal);
  } catch (error) {
    throw await explainUnread(place, signal, error);
  }
}

/** Copies one file. If FROM is `-`, copies standard input, whose size is unknown in advance. */
export async function copyFile({ signal }: StorageSession, copy: Copy, output: Output): Promise<Amount> {
  const { from, to, source, target } = copy;
  const piped = from === "-";
  const entry = piped ? undefined : await lookUp({ uri: from, storage: source }, signal);
  if (entry?.type === "directory") {
    throw usageError(`${from} is a folder, not a file`, { next: "Add --recursive to copy its contents" });
  }
  const path = await placeBelow(to, target, piped ? undefined : nameOf(from), signal);
  const progress = new TransferProgress(output, isSized(entry) ? { files: 1, bytes: entry.size } : undefined);
  const onBytes = (bytes: number) => progress.moved(bytes);
  if (piped) {
    await target.write(path, process.stdin, { signal, onBytes });
  } else {
    await target.copyFrom(source, "", path, { size: isSized(entry) ? entry.size : undefined, signal, onBytes });
  }
  progress.ended();
  return progress.done;
}

/** Tells whether the size of the file is known; web servers do not always send it. */
const isSized = (entry: Entry | undefined): entry is Entry => entry !== undefined && Number.isFinite(entry.size);

/**
 * Returns the path to write to, relative to the target. If the target is a folder, this is the name of the file,
 * otherwise it is empty.
 */
async function placeBelow(to: string, target: Storage, name: string | undefined, signal: AbortSignal): Promise<string> {
  const isFolder = to.endsWith("/") || isBucket(to) || (await isDirectory(target, signal));
  if (!isFolder) return "";
  if (name !== undefined) return name;
  throw usageError(`${to} is a folder, not a file`, {
    why: "Standard input has no file name",
    next: "Give the full path of the file to write",
  });
}

async function isDirectory(target: Storage, signal: AbortSignal): Promise<boolean> {
  return target.stat("", { signal }).then(
    ({ type }) => type === "directory",
    () => false,
  );
}
