/** Lists folders over SFTP. */
import type { Stats } from "ssh2";
import { etagOfTime } from "../../address/tree-path.ts";
import type { CallOptions, Entry, ListCall } from "../../backend.ts";
import { checkedSize } from "../../check-count.ts";
import { blankEntry, directoryEntry } from "../../entry.ts";
import { isStorageError } from "../../errors.ts";
import { listFolders } from "../../listing/directory-listing.ts";
import { type FoundName, readNames, statPath } from "./files.ts";
import type { Session } from "./session.ts";

export const listTree = (session: Session, prefix: string, call: ListCall): AsyncGenerator<Entry[]> =>
  listFolders("sftp", (folder, options) => readFolder(session, folder, options), prefix, call);

async function* readFolder(session: Session, folder: string, call: CallOptions): AsyncGenerator<Entry[]> {
  const names = await namesOf(session, folder, call);
  const entries = names.map((name) => entryOf(session, folder, name, call));
  const found = await Promise.all(entries);
  yield found.filter((entry) => entry !== undefined);
}

async function namesOf(session: Session, folder: string, call: CallOptions): Promise<FoundName[]> {
  try {
    return await session.run(folder, call, (files) => readNames(files, folder));
  } catch (error) {
    if (isStorageError(error, "not_found")) return [];
    throw error;
  }
}

/**
 * Returns the entry for a listed name. Follows links. Returns undefined if a link is broken or does not lead to a file.
 */
async function entryOf(
  session: Session,
  folder: string,
  { filename, attrs }: FoundName,
  call: CallOptions,
): Promise<Entry | undefined> {
  if (filename === "." || filename === "..") return undefined;
  const key = folder + filename;
  if (!attrs.isSymbolicLink()) return toEntry(key, attrs);
  const stats = await session.run(key, call, (files) => statPath(files, key).catch(() => undefined));
  // A linked folder is left out: it may form a cycle.
  return stats?.isFile() ? toEntry(key, stats) : undefined;
}

export function toEntry(key: string, stats: Pick<Stats, "size" | "mtime" | "isDirectory" | "isFile">): Entry {
  if (stats.isDirectory()) return directoryEntry(`${key}/`);
  const modified = new Date(stats.mtime * 1000);
  const size = checkedSize(stats.size, key);
  const known = { size, etag: etagOfTime(modified, size), last_modified: modified };
  return { ...blankEntry("file", key), ...known };
}
