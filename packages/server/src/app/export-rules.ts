/** Returns the number of rows per exported file, and how long an export is kept, in milliseconds. */
import type { ExportSettings } from "../configuration/groups/exports.ts";
import type { ExportRules } from "../domain/datasets/exports.ts";
import { day } from "../domain/time/clock.ts";

export const exportRules = ({ rows, hours }: ExportSettings): ExportRules => ({
  rowsPerFile: rows,
  life: (hours * day) / 24,
});
