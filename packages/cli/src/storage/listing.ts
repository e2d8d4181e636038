/** What `ls` shows: a folder, a single file, or what a pattern matches. */
import type { ClientConfig, Entry } from "@millrace/storage";
import { sizeText } from "../job/view.ts";
import type { Column, Output } from "../output.ts";
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

export async function* listEntries(
  { library, open, signal }: StorageSession,
  uri: string,
  config: ClientConfig,
  recursive: boolean,
): AsyncGenerator<Entry> {
  if (/[*?[{]/.test(uri)) {
    const files = library.fromStorage(uri, { client_config: config, signal });
    try {
      for await (const { path, size, etag, version, is_latest, last_modified } of files) {
        yield { path, size, etag, version, is_latest, last_modified, type: "file" };
      }
    } finally {
      await files.close();
    }
    return;
  }
  const storage = open(uri, config);
  let found = false;
  for await (const entry of storage.list({ recursive, signal })) {
    found = true;
    yield entry;
  }
  if (found) return;
  const entry = await storage.stat("", { signal });
  // An empty folder has nothing to show, and is no error.
  if (entry.type === "file") yield { ...entry, path: uri.slice(uri.lastIndexOf("/") + 1) };
}

const batchSize = 1000;

/** As they come, so that a listing of millions needs no memory; a terminal waits for all, to align them. */
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

/** One array, an entry to a line. */
export async function printJsonEntries(entries: AsyncIterable<Entry>, output: Output): Promise<void> {
  let before = "[";
  for await (const entry of entries) {
    await output.raw(`${before}\n  ${JSON.stringify(entry)}`);
    before = ",";
  }
  output.print(before === "[" ? "[]" : "\n]");
}
