/** Returns where the database of a server is: in the data folder, or at a PostgreSQL URL. */
import { DataFolder } from "../../../server/src/machine/data-folder.ts";

export const storeIn = (dataDir: string, databaseUrl = "") => new DataFolder(dataDir).storeLocation({ databaseUrl });
