/**
 * Restores the warehouses of teams from a backup, and checks that each has the dataset versions that are listed in the
 * database rows of the backup.
 */
import { join } from "node:path";
import { jobEnds } from "../../datachain/statuses.ts";
import { libraryTime } from "../../datachain/times.ts";
import { type Collected, readCollected, TooMuch } from "../../domain/datasets/parse-collected.ts";
import { type BackupWarehouses, type Compared, WarehouseUnusable } from "../../warehouses/backup-warehouses.ts";
import { copyPlain } from "./archive-files.ts";
import { damaged, entriesOf, same } from "./check-digests.ts";
import { type Entry, warehousesFolder } from "./format.ts";
import { readRegistered, type TeamRegistry } from "./registered.ts";

export interface PlacedWarehouse {
  readonly teamId: number;
  readonly team: string;
  /** Number of the team's dataset versions according to the database rows of the backup. */
  readonly versions: number;
  /** Uuids of versions that the warehouse does not have. */
  readonly missing: readonly string[];
  /** Why the warehouse could not be read; null if it could. */
  readonly unreadable: string | null;
}

/**
 * For each job that was running when the backup was taken: the datasets that it had saved in its team's warehouse. The
 * keys are job ids.
 */
export type RunningJobs = Map<string, Collected & { readonly teamId: number }>;

interface PlaceOptions {
  readonly onProgress: (text: string) => void;
  /** Time of the backup. */
  readonly moment: string;
  /** True to delete each warehouse again after it was checked; used to verify a backup. */
  readonly removes?: boolean;
}

export async function placeWarehouses(
  folder: string,
  stores: BackupWarehouses,
  { onProgress, moment, removes = false }: PlaceOptions,
): Promise<{ stores: PlacedWarehouse[]; running: RunningJobs }> {
  const copies = await copiesIn(folder);
  const placed: PlacedWarehouse[] = [];
  const running: RunningJobs = new Map();
  for (const registry of await readRegistered(folder)) {
    const files = copies.get(registry.teamId) ?? [];
    if (files.length === 0 && registry.versions.length === 0) continue;
    onProgress(`datasets of the team ${registry.team}`);
    const store = await placeWarehouse(folder, stores, registry, files);
    placed.push(store);
    if (files.length > 0 && store.unreadable === null) await collectRunning(stores, registry, moment, running);
    if (removes) await stores.remove(registry.teamId);
  }
  return { stores: placed, running };
}

/**
 * Collects the datasets that jobs had saved when the backup was taken, and marks these jobs as failed in the warehouse,
 * as a server does when a job ends. After that, the library's garbage collection keeps these datasets and deletes
 * everything else that the jobs left.
 */
async function collectRunning(
  stores: BackupWarehouses,
  { teamId, running }: TeamRegistry,
  moment: string,
  found: RunningJobs,
): Promise<void> {
  for (const { jobId, startedAt } of running) {
    const times = { startedAt: libraryTime(startedAt), finishedAt: libraryTime(moment) };
    try {
      const answer = await stores.collect(teamId, { jobId, ...times, status: jobEnds.FAILED, errorMessage: "" });
      found.set(jobId, { teamId, ...(await readCollected(answer)) });
    } catch (error) {
      // The versions of this job stay unregistered; everything else of the team is restored.
      if (!(error instanceof WarehouseUnusable) && !(error instanceof TooMuch)) throw error;
    }
  }
}

/**
 * Returns, by team id, the uuids of versions that the restored warehouse does not have. The restore marks them as
 * deleted in the store. Warehouses that could not be read are left out.
 */
export const lostVersions = (placed: readonly PlacedWarehouse[]) =>
  new Map(placed.filter(({ unreadable }) => unreadable === null).map(({ teamId, missing }) => [teamId, missing]));

/** Returns the files of each team's newest warehouse copy in the backup, by team id. */
async function copiesIn(folder: string): Promise<Map<number, Entry[]>> {
  const newest = new Map<number, { moment: string; files: Entry[] }>();
  for await (const entry of entriesOf(folder)) {
    const [top, team, kind, moment = ""] = entry.path.split("/");
    if (top !== warehousesFolder || kind !== "copies") continue;
    const known = newest.get(Number(team));
    if (known?.moment === moment) known.files.push(entry);
    else if (!known || known.moment < moment) newest.set(Number(team), { moment, files: [entry] });
  }
  return new Map([...newest].map(([team, { files }]) => [team, files]));
}

async function placeWarehouse(
  folder: string,
  stores: BackupWarehouses,
  registry: TeamRegistry,
  files: readonly Entry[],
): Promise<PlacedWarehouse> {
  const { teamId, team, versions } = registry;
  const base = { teamId, team, versions: versions.length, unreadable: null };
  if (files.length === 0) return { ...base, missing: versions.map(({ uuid }) => uuid) };
  try {
    const compared = await stores.place(teamId, versions, (target) => copyInto(folder, target, files));
    return { ...base, missing: await nameAsRegistered(stores, registry, compared) };
  } catch (error) {
    if (!(error instanceof WarehouseUnusable)) throw error;
    return { ...base, missing: [], unreadable: error.message };
  }
}

async function copyInto(folder: string, target: string, files: readonly Entry[]): Promise<void> {
  for (const entry of files) {
    const name = entry.path.split("/").at(-1) ?? "";
    if (!same(await copyPlain(join(folder, entry.path), join(target, name)), entry)) throw damaged(entry.path);
  }
}

/**
 * If a dataset was renamed while the backup was taken, its name in the warehouse may differ from its name in the rows
 * of the backup. Gives such datasets in the warehouse the names in the rows. Returns the uuids of versions that are
 * missing or could not be renamed.
 */
async function nameAsRegistered(
  stores: BackupWarehouses,
  { teamId, versions }: TeamRegistry,
  { missing, renamed }: Compared,
): Promise<readonly string[]> {
  const names = new Map(versions.map(({ uuid, name }) => [uuid, name]));
  const stuck: string[] = [];
  for (const uuid of renamed)
    await stores.rename(teamId, uuid, names.get(uuid) ?? "").catch((error: unknown) => {
      if (!(error instanceof WarehouseUnusable)) throw error;
      stuck.push(uuid);
    });
  return [...missing, ...stuck];
}
