/** Settings: where the server keeps its data. */
import { resolve } from "node:path";
import { bytes, databaseUrl, integer, storageUri } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const data = group("Data folder and database", {
  dataDir: setting({
    env: "MILLRACE_DATA_DIR",
    flag: "data-dir",
    fallback: "./.millrace",
    description: "folder of the SQLite database, uploads, job folders, logs and virtualenvs",
    parse: (given) => resolve(given),
  }),
  diskFloor: setting({
    env: "MILLRACE_DISK_FLOOR",
    fallback: "1GiB",
    description:
      "free space in the data folder below which the server neither accepts nor starts jobs; 0 turns this off",
    parse: bytes,
  }),
  databaseUrl: setting({
    env: "MILLRACE_DATABASE_URL",
    flag: "database-url",
    fallback: "",
    description: "postgres://… URL of a PostgreSQL database; empty uses SQLite in the data folder",
    secret: true,
    parse: databaseUrl,
  }),
  blobs: setting({
    env: "MILLRACE_BLOBS",
    fallback: "",
    description:
      "storage URI for uploads, exports and logs of ended jobs, such as s3://BUCKET/PREFIX; credentials come from the environment; empty uses the data folder ([more](operations.md#files-at-a-storage-uri))",
    parse: storageUri,
  }),
  databaseTimeout: setting({
    env: "MILLRACE_DATABASE_TIMEOUT",
    fallback: "10",
    description:
      "seconds after which a PostgreSQL that does not answer counts as unreachable; requests are then answered with 503",
    parse: integer(1, 600),
  }),
});

export type DataSettings = Values<typeof data>;
