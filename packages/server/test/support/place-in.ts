/** All data of a server that has only a data folder. */
import { dataPlace } from "../../src/admin/backup/data-place.ts";
import { readConfig } from "../../src/configuration/config.ts";

export const placeIn = (dataDir: string) => dataPlace(readConfig({}, { MILLRACE_DATA_DIR: dataDir }));
