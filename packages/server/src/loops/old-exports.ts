/** Deletes expired exports, and files that belong to no export. */
import { exportsFolder } from "../blobs/blob-names.ts";
import type { Blobs } from "../blobs/blobs.ts";
import { type Clock, iso } from "../domain/time/clock.ts";
import type { Store } from "../store/drivers/store.ts";
import { deleteExportsBefore, findExport } from "../store/queries/datasets/exports.ts";

export interface OldExportsContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly exports: { readonly life: number };
  readonly blobs: Blobs;
}

const batch = 500;

/**
 * Deletes expired exports. Deletes the rows before the files, because a file without a row is not served any more. If a
 * crash in between leaves files, the next pass deletes them.
 */
export async function removeOldExports({ store, clock, exports, blobs }: OldExportsContext): Promise<void> {
  const before = iso(clock.now() - exports.life);
  while ((await store.write((db) => deleteExportsBefore(db, before, batch))).length === batch) {
    // A full batch means that more rows may be left.
  }
  const useless = new Map<string, boolean>();
  for await (const { name } of blobs.list(exportsFolder)) {
    const id = name.split("/")[1] ?? "";
    if (!useless.has(id)) useless.set(id, await isUseless(store, id));
    if (useless.get(id)) await blobs.remove(name);
  }
}

async function isUseless({ db }: Store, id: string): Promise<boolean> {
  const row = await findExport(db, id);
  return !row || row.status === "failed" || row.status === "removed";
}
