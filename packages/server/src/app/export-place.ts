/** Where the files of exported datasets lie, how many rows each has, and how many milliseconds they are kept. */
import { join } from "node:path";
import type { ExportSettings } from "../configuration/groups/exports.ts";
import { day } from "../domain/time/clock.ts";
import type { DataFolder } from "../machine/data-folder.ts";

export interface ExportPlace {
  readonly folder: string;
  readonly path: (id: string, file: number) => string;
  readonly rowsPerFile: number;
  readonly life: number;
}

export function exportPlace({ exports: folder }: DataFolder, { rows, hours }: ExportSettings): ExportPlace {
  const path = (id: string, file: number) => join(folder, id, String(file));
  return { folder, path, rowsPerFile: rows, life: (hours * day) / 24 };
}
