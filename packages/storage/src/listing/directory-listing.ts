/** Lists stores that are read folder by folder: one level, or a tree, either in order or with many folders at once. */
import type { CallOptions, Entry, ListCall } from "../backend.ts";
import { Channel } from "../concurrency/channel.ts";
import { StorageError } from "../errors.ts";
import { checkDepth } from "./depth.ts";
import { compareKeys } from "./key-order.ts";

/**
 * The only call that a store must supply to be listed folder by folder. Yields the contents of a folder in pages, in
 * any order. The paths of directories end with a slash. `folder` is empty or ends with a slash. A folder that does not
 * exist counts as empty.
 */
export type ReadFolder = (folder: string, call: CallOptions) => AsyncIterable<Entry[]>;

const defaultConcurrency = 8;

/**
 * Implements a backend's `list` on top of `ReadFolder`. If the prefix ends inside a name, as `a/b/ca` does, reads the
 * folder that contains the name (`a/b/`) and leaves out entries that do not begin with the prefix.
 */
export function listFolders(scheme: string, read: ReadFolder, prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
  if (call.delimiter !== undefined && call.delimiter !== "/") {
    throw new StorageError(
      "unsupported",
      `${scheme}:// supports only the delimiter /, got ${JSON.stringify(call.delimiter)}`,
      { scheme },
    );
  }
  const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
  if (call.ordered || call.delimiter !== undefined) return listInOrder(read, folder, prefix, call);
  return listAtOnce(read, folder, prefix, call);
}

/** Lists keys in byte order. The key of a folder ends with a slash, which counts for the order. */
async function* listInOrder(read: ReadFolder, folder: string, prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
  call.signal?.throwIfAborted();
  const all: Entry[] = [];
  // Entries are pushed one by one: a folder may hold more entries than a function call accepts arguments.
  for await (const page of read(folder, call)) {
    for (const entry of page) if (isWanted(entry.path, prefix, call)) all.push(entry);
  }
  let entries: Entry[] = [];
  for (const entry of all.sort((a, b) => compareKeys(a.path, b.path))) {
    if (entry.type === "file" || call.delimiter !== undefined) entries.push(entry);
    else {
      if (entries.length > 0) yield entries;
      entries = [];
      checkDepth(entry.path);
      yield* listInOrder(read, entry.path, entry.path, call);
    }
  }
  if (entries.length > 0) yield entries;
}

/**
 * Whether to list a path. A path before `startAfter` is listed only if it is a folder that may contain keys after
 * `startAfter`.
 */
function isWanted(path: string, prefix: string, { startAfter, delimiter }: ListCall): boolean {
  if (!path.startsWith(prefix)) return false;
  if (startAfter === undefined || compareKeys(path, startAfter) > 0) return true;
  return delimiter === undefined && path.endsWith("/") && startAfter.startsWith(path);
}

interface Work {
  readonly read: ReadFolder;
  readonly call: ListCall;
  readonly pages: Channel<Entry[]>;
  /** Folders not read yet. */
  readonly waiting: string[];
  readonly width: number;
  running: number;
}

async function* listAtOnce(read: ReadFolder, folder: string, prefix: string, call: ListCall): AsyncGenerator<Entry[]> {
  const stop = new AbortController();
  const signal = call.signal ? AbortSignal.any([call.signal, stop.signal]) : stop.signal;
  const width = Math.max(1, call.concurrency ?? defaultConcurrency);
  const work: Work = {
    read,
    call: { ...call, signal },
    pages: new Channel(width),
    waiting: [folder],
    width,
    running: 0,
  };
  startMore(work, prefix);
  try {
    yield* work.pages;
  } finally {
    stop.abort();
  }
}

/**
 * Starts to read waiting folders, up to the allowed number at once. Takes the last folder of the queue first, so that
 * the tree is walked depth first, which keeps the queue short.
 */
function startMore(work: Work, prefix: string): void {
  while (work.running < work.width && work.waiting.length > 0 && !work.pages.closed) {
    work.running += 1;
    void followFolder(work, work.waiting.pop() as string, prefix);
  }
  if (work.running === 0) work.pages.close();
}

async function followFolder(work: Work, folder: string, prefix: string): Promise<void> {
  try {
    checkDepth(folder);
    for await (const page of work.read(folder, work.call)) {
      const files: Entry[] = [];
      for (const entry of page) {
        if (!isWanted(entry.path, prefix, work.call)) continue;
        if (entry.type === "file") files.push(entry);
        else work.waiting.push(entry.path);
      }
      if (files.length > 0) await work.pages.push(files);
      startMore(work, prefix);
    }
  } catch (error) {
    work.pages.close({ error });
  } finally {
    work.running -= 1;
    startMore(work, prefix);
  }
}
