/**
 * Main program of the child process that lists a folder of an object store: reads the wish from standard input, writes
 * the answer to standard output.
 */
import { text } from "node:stream/consumers";
import { checkConnections } from "./checked-connections.ts";
import { addressCheck } from "./public-addresses.ts";
import type { ListingAnswer, StorageWish } from "./storage-listing.ts";

/** Comes after everything in a folder, so that a listing continues behind the folder. */
const last = "\u{10ffff}";

/** A storage may send empty pages for ever. The listing ends if no entry has arrived for this time. */
const silentSeconds = 10;

async function listWhileAnswered(wish: StorageWish): Promise<ListingAnswer> {
  const message = `The storage sent no entry within ${silentSeconds} seconds.`;
  const silent = Promise.withResolvers<ListingAnswer>();
  const timer = setTimeout(() => silent.resolve({ problem: "network", message }), silentSeconds * 1000);
  return Promise.race([list(wish, () => void timer.refresh()), silent.promise]);
}

async function list(wish: StorageWish, heard: () => void): Promise<ListingAnswer> {
  const { openStorage, isStorageError } = await import("@millrace/storage");
  const found: { path: string; isFolder: boolean; size: number; modified: string | null }[] = [];
  try {
    const storage = openStorage(wish.uri as string, wish.config as never, { environment: wish.variables });
    const after = wish.after === undefined ? {} : { startAfter: wish.after };
    for await (const { path, type, size, last_modified } of storage.list({ ordered: true, ...after })) {
      heard();
      const isFolder = type === "directory";
      found.push({ path, isFolder, size, modified: last_modified?.toISOString() ?? null });
      if (found.length > wish.limit) break;
    }
    const shown = found.slice(0, wish.limit);
    const end = shown.at(-1);
    const next = found.length > wish.limit && end ? end.path + (end.isFolder ? last : "") : null;
    return { entries: shown, next };
  } catch (error) {
    return { problem: isStorageError(error) ? error.code : "failed", message: messageOf(error) };
  }
}

/** The message of an error and of its causes: the innermost one says which address was refused. */
function messageOf(error: unknown): string {
  const messages: string[] = [];
  for (let at = error; at instanceof Error && messages.length < 5; at = at.cause)
    if (!messages.some((message) => message.includes((at as Error).message))) messages.push(at.message);
  return messages.join(": ").slice(0, 2000);
}

const wish = JSON.parse(await text(process.stdin)) as StorageWish;
checkConnections(addressCheck(wish.networks));
process.stdout.write(JSON.stringify(await listWhileAnswered(wish)), () => process.exit());
