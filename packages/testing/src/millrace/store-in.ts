/** Location of the store of a data folder: in the folder, or at a URL. */
import { DataFolder } from "../../../server/src/machine/data-folder.ts";

export const storeIn = (dataDir: string, databaseUrl = "") => new DataFolder(dataDir).storeLocation({ databaseUrl });
