/**
 * Lists folders and reads file metadata on FTP servers. Uses the machine-readable commands MLSD and MLST if the server
 * has them.
 */
import { type Client, type FileInfo, FileType, FTPError } from "basic-ftp";
import { checkTreePath, etagOfTime } from "../../address/tree-path.ts";
import type { CallOptions, Entry, ListCall } from "../../backend.ts";
import { checkedSize } from "../../check-count.ts";
import { blankEntry, directoryEntry } from "../../entry.ts";
import { FolderError, isStorageError } from "../../errors.ts";
import { listFolders } from "../../listing/directory-listing.ts";
import type { Pool } from "./pool.ts";

/**
 * Returns the key. Throws if `checkTreePath` does, or if the key contains a line end, which would end the FTP command.
 */
export const checkPath = (key: string) => checkTreePath("ftp", key, /[\0\r\n]/);

export const pathOf = (key: string) => `/${key}`;

export const listTree = (pool: Pool, prefix: string, call: ListCall): AsyncGenerator<Entry[]> =>
  listFolders("ftp", (folder, options) => readFolder(pool, folder, options), prefix, call);

async function* readFolder(pool: Pool, folder: string, call: CallOptions): AsyncGenerator<Entry[]> {
  if (/[\0\r\n]/.test(folder)) return;
  try {
    yield await pool.run(folder, call, (client) => listFolder(client, folder));
  } catch (error) {
    if (!isStorageError(error, "not_found")) throw error;
  }
}

/**
 * Lists a folder. Changes into the folder and then lists without an argument, because some servers take a name in the
 * argument for an option or a pattern.
 */
export async function listFolder(client: Client, folder: string): Promise<Entry[]> {
  await client.cd(pathOf(folder));
  const entries: Entry[] = [];
  for (const info of await client.list()) {
    if (info.name === "." || info.name === "..") continue;
    const entry = await entryOf(client, folder + info.name, info);
    if (entry) entries.push(entry);
  }
  return entries;
}

/**
 * Returns the entry for a listed name. A human-readable listing has no exact times, so the time of each file is
 * requested. A link to a file is listed as a file; other links are left out.
 */
async function entryOf(client: Client, key: string, info: FileInfo): Promise<Entry | undefined> {
  if (info.type === FileType.Directory) return directoryEntry(`${key}/`);
  if (info.type === FileType.File && info.modifiedAt) return fileEntry(key, info.size, info.modifiedAt);
  try {
    if (info.type === FileType.File) return fileEntry(key, info.size, await client.lastMod(pathOf(key)));
    return await statByCommands(client, key);
  } catch (error) {
    if (error instanceof FTPError) return undefined;
    throw error;
  }
}

export async function statFile(pool: Pool, key: string, call: CallOptions): Promise<Entry> {
  if (key !== "") checkPath(key);
  const entry = await pool.run(key, call, async (client) =>
    (await client.features()).has("MLST") ? statByFacts(client, key) : statByTrying(client, key),
  );
  if (entry.type === "file") return entry;
  throw new FolderError(pool.place(key));
}

/**
 * Returns the metadata of a file or folder from the answer to MLST: ` type=file;size=5;modify=20261115104606; /a/b`.
 */
async function statByFacts(client: Client, key: string): Promise<Entry> {
  const { message } = await client.send(`MLST ${pathOf(key)}`);
  const facts = /^[ ](\S*;) /m.exec(message)?.[1]?.toLowerCase() ?? "";
  const fact = (name: string) => new RegExp(`(?:^|;)${name}=([^;]*);`).exec(facts)?.[1] ?? "";
  if (/dir$/.test(fact("type"))) return directoryEntry(`${key}/`);
  return fileEntry(key, checkedSize(fact("size") || "0", key), parseTime(fact("modify")));
}

/**
 * Returns the metadata of a file or folder, for servers without MLST. If the server reports no size, tries to change
 * into a folder of this name. If the change succeeds, the key is a folder.
 */
async function statByTrying(client: Client, key: string): Promise<Entry> {
  try {
    return await statByCommands(client, key);
  } catch (error) {
    if (!(error instanceof FTPError)) throw error;
    await client.cd(pathOf(key));
    return directoryEntry(`${key}/`);
  }
}

async function statByCommands(client: Client, key: string): Promise<Entry> {
  const size = await client.size(pathOf(key));
  return fileEntry(key, size, await client.lastMod(pathOf(key)));
}

/** Parses a time, which FTP always states in UTC. Returns null if the text is not a time. */
function parseTime(text: string): Date | null {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)/.exec(text) ?? [];
  if (year === undefined) return null;
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

const fileEntry = (key: string, size: number, modified: Date | null): Entry => ({
  ...blankEntry("file", key),
  size: checkedSize(size, key),
  etag: etagOfTime(modified, size),
  last_modified: modified,
});
