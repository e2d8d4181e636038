/** Makes the dataset stores of teams from a backup, and has each read: what the registry names must be in it. */
import { join } from "node:path";
import { type BackupStores, type Compared, StoreUnusable } from "../team-stores/backup-stores.ts";
import { copyPlain } from "./archive-files.ts";
import { damaged, entriesOf, same } from "./check-digests.ts";
import { type Entry, storesFolder } from "./format.ts";
import { readRegistered, type TeamRegistry } from "./registered.ts";

export interface PlacedStore {
  readonly teamId: number;
  readonly team: string;
  /** How many versions the registry names. */
  readonly versions: number;
  /** Uuids of those that are not there. */
  readonly missing: readonly string[];
  /** Why it could not be read; null: it was. */
  readonly unreadable: string | null;
}

interface PlaceOptions {
  readonly onProgress: (text: string) => void;
  /** Each goes again once it was read: for a look. */
  readonly removes?: boolean;
}

export async function placeStores(
  folder: string,
  stores: BackupStores,
  { onProgress, removes = false }: PlaceOptions,
): Promise<PlacedStore[]> {
  const copies = await copiesIn(folder);
  const placed: PlacedStore[] = [];
  for (const registry of await readRegistered(folder)) {
    const files = copies.get(registry.teamId) ?? [];
    if (files.length === 0 && registry.versions.length === 0) continue;
    onProgress(`datasets of the team ${registry.team}`);
    placed.push(await placeStore(folder, stores, registry, files));
    if (removes) await stores.remove(registry.teamId);
  }
  return placed;
}

/** For the store: its rows are nowhere, so nobody is told that they are. */
export const lostVersions = (placed: readonly PlacedStore[]) =>
  new Map(placed.filter(({ unreadable }) => unreadable === null).map(({ teamId, missing }) => [teamId, missing]));

/** The files of the newest copy of each team. */
async function copiesIn(folder: string): Promise<Map<number, Entry[]>> {
  const newest = new Map<number, { moment: string; files: Entry[] }>();
  for await (const entry of entriesOf(folder)) {
    const [top, team, kind, moment = ""] = entry.path.split("/");
    if (top !== storesFolder || kind !== "copies") continue;
    const known = newest.get(Number(team));
    if (known?.moment === moment) known.files.push(entry);
    else if (!known || known.moment < moment) newest.set(Number(team), { moment, files: [entry] });
  }
  return new Map([...newest].map(([team, { files }]) => [team, files]));
}

async function placeStore(
  folder: string,
  stores: BackupStores,
  { teamId, team, versions }: TeamRegistry,
  files: readonly Entry[],
): Promise<PlacedStore> {
  const base = { teamId, team, versions: versions.length, unreadable: null };
  if (files.length === 0) return { ...base, missing: versions.map(({ uuid }) => uuid) };
  try {
    const compared = await stores.place(teamId, versions, (target) => copyInto(folder, target, files));
    return { ...base, missing: await nameAsRegistered(stores, { teamId, team, versions }, compared) };
  } catch (error) {
    if (!(error instanceof StoreUnusable)) throw error;
    return { ...base, missing: [], unreadable: error.message };
  }
}

async function copyInto(folder: string, target: string, files: readonly Entry[]): Promise<void> {
  for (const entry of files) {
    const name = entry.path.split("/").at(-1) ?? "";
    if (!same(await copyPlain(join(folder, entry.path), join(target, name)), entry)) throw damaged(entry.path);
  }
}

/** Datasets that were renamed while the backup was taken get the names that they had. Returns what is missing. */
async function nameAsRegistered(
  stores: BackupStores,
  { teamId, versions }: TeamRegistry,
  { missing, renamed }: Compared,
): Promise<readonly string[]> {
  const names = new Map(versions.map(({ uuid, name }) => [uuid, name]));
  const stuck: string[] = [];
  for (const uuid of renamed)
    await stores.rename(teamId, uuid, names.get(uuid) ?? "").catch((error: unknown) => {
      if (!(error instanceof StoreUnusable)) throw error;
      stuck.push(uuid);
    });
  return [...missing, ...stuck];
}
