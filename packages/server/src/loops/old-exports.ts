/** Removes exports that are older than their time, and files that belong to none. */
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, iso } from "../domain/time/clock.ts";
import type { Store } from "../store/drivers/store.ts";
import { deleteExportsBefore, findExport } from "../store/queries/datasets/exports.ts";

export interface OldExportsContext {
  readonly store: Store;
  readonly clock: Clock;
  readonly exports: { readonly folder: string; readonly life: number };
}

const batch = 500;

/** The rows first: without one no file is served. A server that dies in between leaves folders, which the next pass finds. */
export async function removeOldExports({ store, clock, exports }: OldExportsContext): Promise<void> {
  const before = iso(clock.now() - exports.life);
  while ((await store.write((db) => deleteExportsBefore(db, before, batch))).length === batch) {
    // As long as a batch was full.
  }
  for (const id of await readdir(exports.folder).catch(() => [])) {
    const row = await findExport(store.db, id);
    if (!row || row.status === "failed" || row.status === "removed")
      await rm(join(exports.folder, id), { recursive: true, force: true });
  }
}
