/** The blobs of a data folder. */
import { FolderBlobs } from "../../src/blobs/folder-blobs.ts";
import { DataFolder } from "../../src/machine/data-folder.ts";

export const blobsIn = (dataDir: string) =>
  new FolderBlobs(new DataFolder(dataDir).blobs({ data: { blobs: "" }, storageEnvironment: {} }).folders);
