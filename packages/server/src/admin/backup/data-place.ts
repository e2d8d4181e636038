/** Where all data of a server lies: its data folder, its store and its blobs. */
import type { Blobs } from "../../blobs/blobs.ts";
import { openBlobs } from "../../blobs/open-blobs.ts";
import type { Config } from "../../configuration/config.ts";
import { DataFolder } from "../../machine/data-folder.ts";
import type { StoreLocation } from "../../store/opening/open-store.ts";

export interface DataPlace {
  readonly folder: DataFolder;
  readonly store: StoreLocation;
  readonly blobs: Blobs;
}

type Settings = Pick<Config, "dataDir" | "databaseUrl"> &
  Partial<Pick<Config, "databaseTimeout" | "blobs" | "storageEnvironment">>;

export async function dataPlace(settings: Settings): Promise<DataPlace> {
  const folder = new DataFolder(settings.dataDir);
  const blobs = await openBlobs(folder.blobs({ blobs: "", storageEnvironment: {}, ...settings }));
  return { folder, store: folder.storeLocation(settings), blobs };
}
