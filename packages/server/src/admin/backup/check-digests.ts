/** Checks every file of a backup against its digest. */
import { join } from "node:path";
import type { Measured } from "../../blobs/blobs.ts";
import { digestPlain, readLines, requirePlainFolders } from "./archive-files.ts";
import { checkEntry, type Entry, type Manifest, names } from "./format.ts";

export const same = (a: Measured | undefined, b: Measured) => a?.size === b.size && a.sha256 === b.sha256;

export async function checkDigests(
  folder: string,
  { sha256 }: Manifest,
  onProgress: (text: string) => void,
): Promise<void> {
  for (const list of ["rows", "digests"] as const) {
    const found = await digestPlain(join(folder, names[list]));
    if (found?.sha256 !== sha256[list]) throw damaged(names[list]);
  }
  let checked = 0;
  for await (const entry of entriesOf(folder)) {
    await requirePlainFolders(folder, entry.path);
    if (!same(await digestPlain(join(folder, entry.path)), entry)) throw damaged(entry.path);
    if (++checked % 100 === 0) onProgress(`${checked} files checked`);
  }
}

export const damaged = (path: string) => new Error(`${path} in the backup is missing or damaged. Use another backup.`);

export async function* entriesOf(folder: string): AsyncGenerator<Entry> {
  for await (const line of readLines(join(folder, names.digests))) yield checkEntry(line);
}
