/** Where all data of a server lies: its data folder and its store. */
import { DataFolder } from "../../machine/data-folder.ts";
import type { StoreLocation } from "../../store/opening/open-store.ts";

export interface DataPlace {
  readonly folder: DataFolder;
  readonly store: StoreLocation;
}

export function dataPlace(settings: {
  readonly dataDir: string;
  readonly databaseUrl: string;
  readonly databaseTimeout?: number;
}): DataPlace {
  const folder = new DataFolder(settings.dataDir);
  return { folder, store: folder.storeLocation(settings) };
}
