/** Settings: the files of exported datasets. */
import { integer } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const exports = group("Exports of datasets", {
  rows: setting({
    env: "MILLRACE_EXPORT_ROWS",
    fallback: "200000",
    description: "maximum number of rows in one file of an export; with wide rows, a file has fewer",
    parse: integer(1, 10_000_000),
  }),
  hours: setting({
    env: "MILLRACE_EXPORT_HOURS",
    fallback: "24",
    description: "hours until the files of an export are deleted and their URLs expire",
    parse: integer(1, 8760),
  }),
});

export type ExportSettings = Values<typeof exports>;
