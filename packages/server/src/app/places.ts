/** Where files lie in the data folder. */
import { join } from "node:path";
import type { ExportSettings } from "../configuration/groups/exports.ts";
import { day } from "../domain/time/clock.ts";

export interface Places {
  /** Folders of attempts. */
  readonly jobsDir: string;
  /** Virtualenvs. */
  readonly envsDir: string;
  /** Uploaded files. */
  readonly filesDir: string;
  readonly filePath: (blob: string) => string;
  readonly exports: ExportPlace;
}

/** Files of exported datasets, how many rows each has, and how many milliseconds they are kept. */
interface ExportPlace {
  readonly folder: string;
  readonly path: (id: string, file: number) => string;
  readonly rowsPerFile: number;
  readonly life: number;
}

export function placesIn(dataDir: string, { rows, hours }: ExportSettings): Places {
  const filesDir = join(dataDir, "files");
  const folder = join(dataDir, "exports");
  return {
    jobsDir: join(dataDir, "jobs"),
    envsDir: join(dataDir, "envs"),
    filesDir,
    filePath: (blob) => join(filesDir, blob.slice(0, 2), blob),
    exports: {
      folder,
      path: (id, file) => join(folder, id, String(file)),
      rowsPerFile: rows,
      life: (hours * day) / 24,
    },
  };
}
