/**
 * Copies the warehouses of teams into a backup. This happens after the database rows were written, so that each copy
 * has every dataset version that is listed in those rows.
 */
import { join } from "node:path";
import { iso } from "../../domain/time/clock.ts";
import { type BackupWarehouses, WarehouseUnusable } from "../../warehouses/backup-warehouses.ts";
import { copyNames } from "../../warehouses/warehouse-folder.ts";
import { type WarehousePart, warehousesFolder } from "./format.ts";
import { readRegistered, type TeamRegistry } from "./registered.ts";

export interface CopyWarehousesOptions {
  readonly stores: BackupWarehouses;
  /** Copies a file to this path of the backup. Returns false if the file does not exist. */
  readonly copy: (from: string, path: string) => Promise<boolean>;
  readonly now: () => number;
  readonly onProgress: (text: string) => void;
}

export async function copyWarehouses(part: string, options: CopyWarehousesOptions): Promise<WarehousePart[]> {
  const parts: WarehousePart[] = [];
  for (const registry of await readRegistered(part)) {
    const { teamId, team, versions } = registry;
    if (versions.length === 0 && !options.stores.exists(teamId)) continue;
    options.onProgress(`datasets of the team ${team}`);
    parts.push(await copyWarehouse(registry, options));
  }
  return parts;
}

/**
 * Copies the warehouse of one team. If the warehouse cannot be read, copies the newest daily copy instead, and the
 * manifest says so.
 */
async function copyWarehouse(registry: TeamRegistry, options: CopyWarehousesOptions): Promise<WarehousePart> {
  const { teamId, team, versions } = registry;
  const base = { teamId, team, versions: versions.length };
  const takenAt = iso(options.now());
  try {
    return await options.stores.withCopy(teamId, versions, async (copy, { missing }) => {
      await putIn(registry, copy, takenAt, options);
      return { ...base, from: "store", takenAt, missing, why: null };
    });
  } catch (error) {
    if (!(error instanceof WarehouseUnusable)) throw error;
    return { ...base, ...(await copyDaily(registry, options)), why: error.message };
  }
}

async function copyDaily(registry: TeamRegistry, options: CopyWarehousesOptions) {
  const daily = await options.stores.newestDaily(registry.teamId);
  const all = registry.versions.map(({ uuid }) => uuid);
  if (!daily) return { from: "nothing", takenAt: null, missing: all } as const;
  const { missing } = await options.stores
    .compareDaily(registry.teamId, daily.moment, registry.versions)
    .catch(() => ({ missing: all }));
  await putIn(registry, daily.path, daily.moment, options);
  return { from: "daily copy", takenAt: daily.moment, missing } as const;
}

async function putIn({ teamId }: TeamRegistry, copy: string, moment: string, options: CopyWarehousesOptions) {
  const folder = join(warehousesFolder, String(teamId), "copies", moment);
  for (const name of copyNames) await options.copy(join(copy, name), join(folder, name));
}
