/**
 * The format of a backup: a folder with manifest.json, store.ndjson.gz (one row of the store per line),
 * digests.ndjson.gz (one file of the backup per line), files/, jobs/ and team-stores/. It is the same for SQLite and
 * PostgreSQL, so that a backup of one restores into the other.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { recordNames } from "../../engines/local/attempt/records.ts";
import { schemaVersion } from "../../store/migrations/migrations.ts";
import { copyNames } from "../../warehouses/warehouse-folder.ts";
import type { MissingUploads } from "./missing-uploads.ts";

/** Readable versions of the format. Since version 2, the manifest lists the warehouses that the backup holds. */
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
  /** Time of the snapshot of the rows. */
  readonly startedAt: string;
  readonly finishedAt: string;
  readonly store: "sqlite" | "postgres";
  /** True if the backup contains the encryption key. */
  readonly withKey: boolean;
  /** Number of rows by table. */
  readonly rows: Readonly<Record<string, number>>;
  readonly files: number;
  readonly bytes: number;
  /** Warehouses of teams. Absent in backups of format 1, which hold the daily copies of warehouses instead. */
  readonly stores?: readonly WarehousePart[];
  /** Uploads that have a row but no file in the backup; absent in backups of older versions. */
  readonly uploads?: MissingUploads;
  /**
   * SHA-256 of the list of rows and of the list of digests. The digests of all other files are in the list of digests.
   */
  readonly sha256: { readonly rows: string; readonly digests: string };
}

/** The part of a backup that holds the warehouse of one team. */
export interface WarehousePart {
  readonly teamId: number;
  readonly team: string;
  /**
   * Source of the copy: the warehouse itself; the newest daily copy if the warehouse cannot be read; or nothing if
   * there is no daily copy either.
   */
  readonly from: "store" | "daily copy" | "nothing";
  /** The copy contains the warehouse as of this time; null if there is no copy. */
  readonly takenAt: string | null;
  /** Number of the team's dataset versions according to the database rows of the backup. */
  readonly versions: number;
  /** Uuids of versions that the copy does not have. */
  readonly missing: readonly string[];
  /** Why the warehouse itself could not be copied; null if it was copied. */
  readonly why: string | null;
}

/** A file of the backup: one line of the list of digests. */
export interface Entry {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

export const newManifest = (rest: Omit<Manifest, "format">): Manifest => ({ format: formatVersion, ...rest });

/** Reads the manifest. Throws if the folder is no backup, or is a backup that this version cannot read. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, names.manifest), "utf8").catch(() => {
    throw new Error(
      `There is no backup in ${folder}, because the folder has no file ${names.manifest}. Check the path. A folder whose name ends in .part is an interrupted backup, which cannot be restored.`,
    );
  });
  const manifest = parse(text);
  if (!manifest || typeof manifest.startedAt !== "string" || !/^\d{4}-[\d-]+T[\d:.]+Z$/.test(manifest.startedAt))
    throw new Error(
      `The file ${names.manifest} in ${folder} is damaged, or does not belong to a backup. Use another backup.`,
    );
  if (!formats.includes(manifest.format) || manifest.schemaVersion > schemaVersion)
    throw new Error("The backup was written by a newer version of Millrace. Upgrade this program, then try again.");
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

/**
 * Folder in a backup with the copies of warehouses. Each copy is named after the time at which it was made. Old backups
 * also have a file `made` for each team, which is no longer used.
 */
export const warehousesFolder = "team-stores";
const moment = "\\d{4}-\\d\\d-\\d\\dT[\\d:.]{8,12}Z";
const team = `${warehousesFolder}/\\d{1,10}/(?:made|copies/${moment}/(?:${copyNames.join("|")}))`;

const known = new RegExp(
  `^(?:files/[0-9a-f]{2}/${uuid}|jobs/${uuid}\\.\\d{1,9}/(?:${recordNames.join("|")})|${team}|secret\\.key)$`,
);

/**
 * Validates a line of the list of digests. Throws for a path outside the known folders, because a backup may come from
 * an untrusted source.
 */
export function checkEntry(value: unknown): Entry {
  const { path, size, sha256 } = value as Entry;
  if (
    typeof path !== "string" ||
    !known.test(path) ||
    !Number.isSafeInteger(size) ||
    size < 0 ||
    typeof sha256 !== "string"
  )
    throw new Error(
      `The backup lists an unexpected file, so it is damaged or not from Millrace. Use another backup. The file: ${JSON.stringify(value).slice(0, 200)}`,
    );
  return { path, size, sha256 };
}
