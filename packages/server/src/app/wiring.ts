/** What is needed to build the HTTP server and the loops. Each function takes only the fields that it needs. */
import type { Config } from "../configuration/config.ts";
import type { ExportRules } from "../domain/datasets/exports.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import type { Machinery } from "./machinery.ts";
import type { Readiness } from "./readiness.ts";

export interface Wiring {
  readonly config: Config;
  readonly machinery: Machinery;
  readonly folder: DataFolder;
  readonly exports: ExportRules;
  readonly publicUrl: () => string;
  readonly readiness: Readiness;
}
