/** Lists folders and reads the metadata of files in fsspec's file systems. */
import { isTemporaryName } from "../../address/temporary-name.ts";
import { checkTreePath } from "../../address/tree-path.ts";
import type { CallOptions, Entry, ListCall } from "../../backend.ts";
import { checkedSize } from "../../check-count.ts";
import { blankEntry, directoryEntry } from "../../entry.ts";
import { FolderError } from "../../errors.ts";
import { listFolders } from "../../listing/directory-listing.ts";
import type { Place } from "./place.ts";

/** A file or folder, as the Python process describes it. */
export interface ToldEntry {
  readonly size: number;
  /** Modification time in milliseconds since 1970; null if it is unknown. */
  readonly time: number | null;
  readonly etag: string;
  readonly type: Entry["type"];
}

export const checkPath = (place: Place, key: string) => checkTreePath(place.scheme, place.relative(key));

export const entryOf = (key: string, { size, time, etag }: ToldEntry): Entry => ({
  ...blankEntry("file", key),
  size: checkedSize(size, key),
  etag,
  last_modified: time === null ? null : new Date(time),
});

export async function statFile(place: Place, key: string, call: CallOptions): Promise<Entry> {
  if (place.relative(key) !== "") checkPath(place, key);
  const told = (await place.ask({ action: "info", key }, call)) as ToldEntry;
  if (told.type === "directory") throw new FolderError(place.of(key));
  return entryOf(key, told);
}

export const listTree = (place: Place, prefix: string, call: ListCall): AsyncGenerator<Entry[]> =>
  listFolders(place.scheme, (folder, options) => readFolder(place, folder, options), prefix, call);

async function* readFolder(place: Place, folder: string, { signal }: CallOptions): AsyncGenerator<Entry[]> {
  const key = folder.replace(/\/$/, "");
  const request = { action: "ls", key: folder, members: { key: place.relative(key) } };
  const call = await place.begin("question", request, { signal });
  try {
    for (let frame = await call.next(); frame; frame = await call.next()) {
      const told = JSON.parse(frame.payload.toString()) as (ToldEntry & { name: string })[];
      yield told
        .filter(({ name }) => !isTemporaryName(name))
        .map((entry) =>
          entry.type === "directory" ? directoryEntry(`${folder}${entry.name}/`) : entryOf(folder + entry.name, entry),
        );
    }
  } finally {
    call.cancel();
  }
}
