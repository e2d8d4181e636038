/** The blobs of a data folder. */
import { exportsFolder, uploadsFolder } from "../../src/blobs/blob-names.ts";
import { FolderBlobs } from "../../src/blobs/folder-blobs.ts";

export const blobsIn = (dataDir: string) => new FolderBlobs(dataDir, [uploadsFolder, exportsFolder]);
