/** Files that datasets are exported to. */
import { integer } from "../parse.ts";
import { group, setting, type Values } from "../setting.ts";

export const exports = group("Exports of datasets", {
  rows: setting({
    env: "MILLRACE_EXPORT_ROWS",
    fallback: "200000",
    description: "most rows in one file of an export; wide rows make files with fewer",
    parse: integer(1, 10_000_000),
  }),
  hours: setting({
    env: "MILLRACE_EXPORT_HOURS",
    fallback: "24",
    description: "hours until the files of an export are removed and their URLs expire",
    parse: integer(1, 8760),
  }),
});

export type ExportSettings = Values<typeof exports>;
