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

async function list(wish: StorageWish): Promise<ListingAnswer> {
  const { openStorage, isStorageError } = await import("@millrace/storage");
  const found: { path: string; isFolder: boolean; size: number; modified: string | null }[] = [];
  try {
    const storage = openStorage(wish.uri as string, wish.config as never, { environment: wish.variables });
    const after = wish.after === undefined ? {} : { startAfter: wish.after };
    for await (const { path, type, size, last_modified } of storage.list({ ordered: true, ...after })) {
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
process.stdout.write(JSON.stringify(await list(wish)), () => process.exit());
