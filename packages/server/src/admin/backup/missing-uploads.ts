/** Uploads that have a row in a backup, but whose file did not exist when the backup was to copy it. */
import { lastPart } from "../../blobs/blob-names.ts";
import type { StoreLocation } from "../../store/opening/open-store.ts";
import { openSnapshot } from "../../store/opening/snapshot.ts";

export interface MissingUploads {
  /** Ids of uploads that the store still names at the end of the backup, so they were lost. */
  readonly lost: readonly string[];
  /** Ids of uploads that the server deleted during the backup. */
  readonly removed: readonly string[];
}

/** Finds out which of the uploads that could not be copied were lost, and which the server had deleted. */
export async function sortMissing(location: StoreLocation, names: readonly string[]): Promise<MissingUploads> {
  const ids = names.map(lastPart);
  if (ids.length === 0) return { lost: [], removed: [] };
  const named = await namedUploads(location, new Set(ids));
  return { lost: ids.filter((id) => named.has(id)), removed: ids.filter((id) => !named.has(id)) };
}

/** Returns which of these uploads still have a row in the store. */
async function namedUploads(location: StoreLocation, ids: ReadonlySet<string>): Promise<Set<string>> {
  const snapshot = await openSnapshot(location);
  const named = new Set<string>();
  try {
    for await (const { blob } of snapshot.rows("files")) if (ids.has(String(blob))) named.add(String(blob));
    return named;
  } finally {
    await snapshot.close();
  }
}
