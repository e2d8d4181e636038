/** The locations of all data of a server: data folder, store and blobs. */
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

export async function dataPlace(config: Pick<Config, "data" | "storageEnvironment">): Promise<DataPlace> {
  const folder = new DataFolder(config.data.dataDir);
  return { folder, store: folder.storeLocation(config.data), blobs: await openBlobs(folder.blobs(config)) };
}
