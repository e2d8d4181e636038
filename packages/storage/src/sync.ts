/** Making one tree like another, of whatever kinds of storage the two are. */
import type { CallOptions, Entry } from "./backend.ts";
import { runAll } from "./concurrency/window.ts";
import { isStorageError, StorageError } from "./errors.ts";
import type { TransferProgress } from "./options.ts";
import type { Storage } from "./storage.ts";

export interface SyncOptions extends CallOptions, TransferProgress {
  /** Remove what the source does not have. */
  readonly remove?: boolean;
  /** Copy every file, also what looks the same. */
  readonly all?: boolean;
  /** Files at once; 8 when absent. */
  readonly concurrency?: number;
  /** Say what would be done, and do nothing. */
  readonly dryRun?: boolean;
  readonly onAction?: (action: SyncAction) => void;
}

export interface SyncAction {
  readonly kind: "copy" | "remove" | "keep";
  readonly path: string;
  readonly size: number;
}

/**
 * Copies files that are absent in the target, or differ in size, or are newer in the source, which must be a folder or a
 * bucket that is there. Where the target can make many changes as one, it does; where both are of one store, the store
 * copies.
 */
export async function syncTrees(source: Storage, target: Storage, options: SyncOptions = {}): Promise<void> {
  const call = { signal: options.signal, message: "Synchronise" };
  await target.batch((batch) => syncInto(source, batch, options), call);
}

async function syncInto(source: Storage, target: Storage, options: SyncOptions): Promise<void> {
  const present = new Map<string, Entry>();
  const { signal, onBytes } = options;
  const call = { recursive: true, refresh: true, signal } as const;
  // What lies behind a link to a folder is not the target's to remove: it may even be the source.
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
 * What is not there lists like what is empty: a wrong name must not empty the target. Where folders do not exist on
 * their own an empty one is not there, but the mark of one is, whose name ends with a slash.
 */
async function checkFolder(source: Storage, signal: AbortSignal | undefined): Promise<void> {
  const { uri, scheme, capabilities } = source;
  const entry = await source.stat("", { signal }).catch((error: unknown) => {
    if (!isStorageError(error, "not_found")) throw error;
    throw new StorageError("not_found", `${uri}: there is no such folder`, { scheme, cause: error });
  });
  const isMark = capabilities.keys.trailingSlash && uri.endsWith("/");
  if (entry.type === "directory" || isMark) return;
  throw new StorageError("invalid", `${uri} is a file, not a folder: copyFrom copies it`, { scheme });
}

async function perform(options: SyncOptions, action: SyncAction, run: () => Promise<unknown>): Promise<void> {
  if (!options.dryRun) await run();
  options.onAction?.(action);
}

/** In doubt it is another: times may be whole seconds, and a change that is missed would never be made up for. */
function isSame(source: Entry, target: Entry): boolean {
  if (source.size !== target.size) return false;
  if (source.etag !== "" && source.etag === target.etag) return true;
  return (source.last_modified ?? 0) <= (target.last_modified ?? 0);
}
