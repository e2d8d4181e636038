/**
 * Builds the loops that maintain data on disk: warehouses, exports, virtualenvs, and data past its retention period.
 */
import type { QuotaSettings } from "../configuration/groups/quotas.ts";
import type { RetentionSettings } from "../configuration/groups/retention.ts";
import type { WarehouseSettings } from "../configuration/groups/warehouses.ts";
import type { ExportRules } from "../domain/datasets/exports.ts";
import { countUsage } from "../loops/count-usage.ts";
import { exportDatasets } from "../loops/export-datasets.ts";
import { keepEnvironments } from "../loops/keep-environments.ts";
import { copyWarehouses, tidyWarehouses } from "../loops/keep-warehouses.ts";
import type { Loop } from "../loops/loop.ts";
import { sweep } from "../loops/sweep.ts";
import type { DataFolder } from "../machine/data-folder.ts";
import type { Machinery } from "./machinery.ts";

interface UpkeepLoops {
  readonly machinery: Machinery;
  readonly folder: DataFolder;
  readonly exports: ExportRules;
  readonly keeping: WarehouseSettings;
  readonly retention: RetentionSettings;
  readonly quotas: QuotaSettings;
}

export function upkeepLoops({ machinery, exports, ...settings }: UpkeepLoops): Loop[] {
  const { execution, warehouses, measures, blobs, packs, archive } = machinery;
  const { store, engines, signals, clock, log, disk, serverId } = execution;
  const { keeping, retention, quotas } = settings;
  const kept = {
    ...{ store, signals, clock, log, disk, warehouses, measures },
    warehouseCopies: keeping.copies,
    warehouseTidyHours: keeping.tidyHours,
    warehousePauseDays: keeping.pauseDays,
  };
  return [
    countUsage({ store, engines, clock, log, archive, measures, quotas, ...retention }),
    keepEnvironments({ store, engines, clock, disk, serverId, quotas }),
    copyWarehouses(kept),
    tidyWarehouses(kept),
    exportDatasets({ store, signals, clock, disk, log, warehouses, blobs, quotas }),
    sweep({
      ...{ store, engines, clock, log, serverId, warehouses },
      ...{ blobs, packs, archive, exports },
      ...retention,
    }),
  ];
}
