/** Copies the changes of one tree to another, between any two kinds of storage. */
import type { CallOptions, Entry } from "./backend.ts";
import { runAll } from "./concurrency/window.ts";
import { isStorageError, StorageError } from "./errors.ts";
import type { TransferProgress } from "./options.ts";
import type { Storage } from "./storage.ts";

export interface SyncOptions extends CallOptions, TransferProgress {
  /** Removes files from the target that the source does not have. */
  readonly remove?: boolean;
  /** Copies every file, even if the file in the target seems to be the same. */
  readonly all?: boolean;
  /** Maximum number of files that are copied at once; 8 by default. */
  readonly concurrency?: number;
  /** Reports what would be done, and does nothing. */
  readonly dryRun?: boolean;
  readonly onAction?: (action: SyncAction) => void;
}

export interface SyncAction {
  readonly kind: "copy" | "remove" | "keep";
  readonly path: string;
  readonly size: number;
}

/**
 * Copies files that are missing in the target, differ in size, or are newer in the source. The source must be an
 * existing folder or bucket. If the target supports batches, all changes are one batch. If source and target are in the
 * same store, the store makes the copies.
 */
export async function syncTrees(source: Storage, target: Storage, options: SyncOptions = {}): Promise<void> {
  const call = { signal: options.signal, message: "Synchronise" };
  await target.batch((batch) => syncInto(source, batch, options), call);
}

async function syncInto(source: Storage, target: Storage, options: SyncOptions): Promise<void> {
  const present = new Map<string, Entry>();
  const { signal, onBytes } = options;
  const call = { recursive: true, refresh: true, signal } as const;
  // With `remove`, links to folders in the target are not followed. The files behind them do not belong to the target
  // and must not be removed: the link may even lead to the source.
  const followLinks = !options.remove;
  for await (const entry of target.list({ ...call, followLinks })) present.set(entry.path, entry);
  let found = false;
  const act = (action: SyncAction, run: () => Promise<unknown>) => perform(options, action, run);
  await runAll(source.list(call), options.concurrency ?? 8, async (entry) => {
    const { path, size } = entry;
    found = true;
    const there = present.get(path);
    present.delete(path);
    if (there && !options.all && isSame(entry, there)) return act({ kind: "keep", path, size }, async () => {});
    await act({ kind: "copy", path, size }, () => target.copyFrom(source, path, path, { signal, onBytes, size }));
  });
  if (!found) await checkFolder(source, signal);
  if (!options.remove) return;
  await runAll(present.values(), options.concurrency ?? 8, ({ path, size }) =>
    act({ kind: "remove", path, size }, () => target.remove(path, { signal })),
  );
}

/**
 * Throws if the source does not exist or is a file. The listing of a missing folder is empty, and a mistyped source
 * must not empty the target. In stores without real folders, an empty folder exists only as a marker, an object whose
 * name ends with a slash.
 */
async function checkFolder(source: Storage, signal: AbortSignal | undefined): Promise<void> {
  const { uri, scheme, capabilities } = source;
  const entry = await source.stat("", { signal }).catch((error: unknown) => {
    if (!isStorageError(error, "not_found")) throw error;
    throw new StorageError("not_found", `${uri}: the folder does not exist`, { scheme, cause: error });
  });
  const isMark = capabilities.keys.trailingSlash && uri.endsWith("/");
  if (entry.type === "directory" || isMark) return;
  throw new StorageError("invalid", `${uri} is a file, not a folder: use copyFrom to copy it`, { scheme });
}

async function perform(options: SyncOptions, action: SyncAction, run: () => Promise<unknown>): Promise<void> {
  if (!options.dryRun) await run();
  options.onAction?.(action);
}

/**
 * Whether two files seem to be the same. They must have the same size. Also, they must have the same ETag, or the
 * target must not be older than the source.
 */
function isSame(source: Entry, target: Entry): boolean {
  if (source.size !== target.size) return false;
  if (source.etag !== "" && source.etag === target.etag) return true;
  return (source.last_modified ?? 0) <= (target.last_modified ?? 0);
}
