/** Lists what `ls` shows: the entries of a folder, a single file, or the matches of a pattern. */
import type { ClientConfig, Entry } from "@millrace/storage";
import { CliError } from "../errors.ts";
import { sizeText } from "../job/view.ts";
import type { Column, Output } from "../output.ts";
import { lookUp, lookUpIfThere } from "./lookup.ts";
import { isPattern, nameOf, unescaped } from "./uri.ts";
import type { StorageSession } from "./with-storage.ts";

const timeText = ({ last_modified }: Entry) => last_modified?.toISOString() ?? "";

const entryColumns: Column<Entry>[] = [
  { title: "SIZE", full: ({ size, type }) => (type === "file" ? String(size) : ""), short: shortSize },
  { title: "MODIFIED", full: timeText, short: (entry) => timeText(entry).slice(0, 16).replace("T", " ") },
  { title: "PATH", full: ({ path }) => path, style: ({ type }) => (type === "directory" ? "cyan" : "plain") },
];

function shortSize({ size, type }: Entry): string {
  return type === "file" ? sizeText(size) : "";
}

export interface ListWishes {
  readonly uri: string;
  readonly config: ClientConfig;
  readonly recursive: boolean;
}

/** Lists the entries of a URI. If a file or folder has exactly this name, the URI is not used as a pattern. */
export async function* listEntries(session: StorageSession, wishes: ListWishes): AsyncGenerator<Entry> {
  if (!isPattern(wishes.uri)) return yield* listPlace(session, wishes);
  for (const uri of [wishes.uri, unescaped(wishes.uri)]) {
    if (uri === undefined || !(await isThere(session, uri, wishes.config))) continue;
    return yield* listPlace(session, { ...wishes, uri });
  }
  yield* listMatches(session, wishes);
}

/** Tells whether a file or folder has exactly this name. Returns false if the store refuses the name as invalid. */
async function isThere({ library, open, signal }: StorageSession, uri: string, config: ClientConfig): Promise<boolean> {
  try {
    return (await lookUpIfThere({ uri, storage: open(uri, config) }, signal)) !== undefined;
  } catch (error) {
    if (library.isStorageError(error, "invalid")) return false;
    throw error;
  }
}

async function* listMatches({ library, signal }: StorageSession, { uri, config }: ListWishes): AsyncGenerator<Entry> {
  const files = library.fromStorage(uri, { client_config: config, signal });
  let found = false;
  try {
    for await (const { path, size, etag, version, is_latest, last_modified } of files) {
      found = true;
      yield { path, size, etag, version, is_latest, last_modified, type: "file" };
    }
  } finally {
    await files.close();
  }
  if (!found) throw new CliError(`${uri} matches no file`, { next: "Try another pattern; ** matches in all folders" });
}

async function* listPlace({ open, signal }: StorageSession, wishes: ListWishes): AsyncGenerator<Entry> {
  const { uri, config, recursive } = wishes;
  const storage = open(uri, config);
  if (storage.capabilities.list) {
    let found = false;
    for await (const entry of storage.list({ recursive, signal })) {
      found = true;
      yield entry;
    }
    if (found) return;
  }
  const entry = await lookUp({ uri, storage }, signal);
  // An empty folder prints nothing and is not an error.
  if (entry.type === "file") yield { ...entry, path: nameOf(uri) };
}

const batchSize = 1000;

/**
 * Prints entries. On a terminal, waits for all entries, to align the columns. Elsewhere, prints them in batches, so
 * that a listing of millions of files needs little memory.
 */
export async function printEntries(entries: AsyncIterable<Entry>, output: Output): Promise<void> {
  let rows: Entry[] = [];
  for await (const entry of entries) {
    rows.push(entry);
    if (rows.length < batchSize || output.isTerminal) continue;
    output.table(entryColumns, rows);
    rows = [];
  }
  if (rows.length > 0) output.table(entryColumns, rows);
}

/** Prints a JSON array with one entry per line. */
export async function printJsonEntries(
  entries: AsyncIterable<Entry>,
  signal: AbortSignal,
  output: Output,
): Promise<void> {
  let before = "[";
  for await (const entry of entries) {
    await output.raw(`${before}\n  ${JSON.stringify(entry)}`, signal);
    before = ",";
  }
  output.print(before === "[" ? "[]" : "\n]");
}
