/** How many rows each file of an exported dataset has, and how many milliseconds it is kept. */
import type { ExportSettings } from "../configuration/groups/exports.ts";
import type { ExportRules } from "../domain/datasets/exports.ts";
import { day } from "../domain/time/clock.ts";

export const exportRules = ({ rows, hours }: ExportSettings): ExportRules => ({
  rowsPerFile: rows,
  life: (hours * day) / 24,
});
