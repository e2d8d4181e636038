/**
 * What a backup is: a folder with manifest.json, store.ndjson.gz (a row of the store to a line), digests.ndjson.gz (a
 * file of the backup to a line), files/, jobs/ and team-stores/. The same for every store, so that one restores into the other.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { recordNames } from "../../engines/local/attempt/records.ts";
import { schemaVersion } from "../../store/migrations/migrations.ts";
import { copyNames } from "../../warehouses/warehouse-folder.ts";

/** The second says which stores of teams a backup holds. */
const formats = [1, 2];
const formatVersion = 2;

export const names = {
  manifest: "manifest.json",
  rows: "store.ndjson.gz",
  digests: "digests.ndjson.gz",
  key: "secret.key",
} as const;

export interface Manifest {
  readonly format: number;
  readonly schemaVersion: number;
  /** The moment that the rows show. */
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly store: "sqlite" | "postgres";
  /** Whether the key of encrypted values is in it. */
  readonly withKey: boolean;
  /** Rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly files: number;
  readonly bytes: number;
  /** Warehouses of teams; absent in backups of the first format, which hold daily copies. */
  readonly stores?: readonly WarehousePart[];
  /** SHA-256 of the two lists; the digests of all other files are in the second. */
  readonly sha256: { readonly rows: string; readonly digests: string };
}

/** What a backup holds of a team's datasets. */
export interface WarehousePart {
  readonly teamId: number;
  readonly team: string;
  /** A copy made for the backup; a daily copy where the store cannot be read; nothing where there is none either. */
  readonly from: "store" | "daily copy" | "nothing";
  /** The moment that it shows; null for nothing. */
  readonly takenAt: string | null;
  /** How many versions the registry names. */
  readonly versions: number;
  /** Uuids of those that are not in it. */
  readonly missing: readonly string[];
  /** Why it is not of the store itself. */
  readonly why: string | null;
}

/** A file of the backup, as a line of the list of digests. */
export interface Entry {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

export const newManifest = (rest: Omit<Manifest, "format">): Manifest => ({ format: formatVersion, ...rest });

/** Says what is wrong with a folder that is no backup that this program can read. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, names.manifest), "utf8").catch(() => {
    throw new Error(
      `There is no backup in ${folder}: it has no ${names.manifest}. One that was cut short ends in .part.`,
    );
  });
  const manifest = parse(text);
  if (!manifest || typeof manifest.startedAt !== "string" || !/^\d{4}-[\d-]+T[\d:.]+Z$/.test(manifest.startedAt))
    throw new Error(`${names.manifest} cannot be read: it is damaged, or not of a backup.`);
  if (!formats.includes(manifest.format) || manifest.schemaVersion > schemaVersion)
    throw new Error("The backup was written by a newer Millrace: upgrade this one.");
  return manifest;
}

function parse(text: string): Manifest | undefined {
  try {
    const manifest = JSON.parse(text) as Manifest;
    const { rows, digests } = manifest.sha256;
    const good = Number.isInteger(manifest.schemaVersion) && manifest.schemaVersion > 0;
    return good && typeof rows === "string" && typeof digests === "string" ? manifest : undefined;
  } catch {
    return undefined;
  }
}

const uuid = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";
export const uuidPattern = new RegExp(`^${uuid}$`);

/** Of a team's warehouse a copy under the name of its moment, and the mark that there is one. */
export const warehousesFolder = "team-stores";
const moment = "\\d{4}-\\d\\d-\\d\\dT[\\d:.]{8,12}Z";
const team = `${warehousesFolder}/\\d{1,10}/(?:made|copies/${moment}/(?:${copyNames.join("|")}))`;

const known = new RegExp(
  `^(?:files/[0-9a-f]{2}/${uuid}|jobs/${uuid}\\.\\d{1,9}/(?:${recordNames.join("|")})|${team}|secret\\.key)$`,
);

/** Throws for a name that could lead anywhere else: a backup may come from a stranger. */
export function checkEntry(value: unknown): Entry {
  const { path, size, sha256 } = value as Entry;
  if (
    typeof path !== "string" ||
    !known.test(path) ||
    !Number.isSafeInteger(size) ||
    size < 0 ||
    typeof sha256 !== "string"
  )
    throw new Error(`The backup lists a file that no backup has: ${JSON.stringify(value).slice(0, 200)}`);
  return { path, size, sha256 };
}
