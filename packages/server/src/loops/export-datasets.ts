/**
 * Writes the files of exports, for several teams in parallel, one file at a time for each team. After each file,
 * another export of the team gets its turn, so that a large export does not block the others. A file gets its final
 * name when it is complete. After a crash, only the incomplete file is written again.
 */
import type { Logger } from "pino";
import { exportFolder, exportName } from "../blobs/blob-names.ts";
import type { Blobs } from "../blobs/blobs.ts";
import { type DiskQuotas, whyNoExports } from "../domain/access/quotas.ts";
import { rowsOfFile } from "../domain/datasets/exports.ts";
import type { Clock } from "../domain/time/clock.ts";
import type { Disk } from "../machine/disk.ts";
import { isPassing } from "../machine/passing.ts";
import type { Db, Store } from "../store/drivers/store.ts";
import { isUnavailable } from "../store/drivers/unavailable.ts";
import { getVersion } from "../store/queries/datasets/dataset-versions.ts";
import {
  countFile,
  type ExportRow,
  failExport,
  nextOpenExport,
  teamsWithOpenExports,
} from "../store/queries/datasets/exports.ts";
import type { Signals } from "../turns/signals.ts";
import { columnsOfSchema } from "../warehouses/columns.ts";
import { type Warehouses, WarehouseUnusable } from "../warehouses/warehouses.ts";
import { BackOff } from "./back-off.ts";
import type { Loop } from "./loop.ts";

export interface ExportsContext {
  readonly store: Store;
  readonly signals: Signals;
  readonly clock: Clock;
  readonly disk: Disk;
  readonly log: Logger;
  readonly warehouses: Warehouses;
  readonly blobs: Blobs;
  readonly quotas: DiskQuotas;
}

/** Maximum number of files that are written in parallel, each of a different team. */
const atOnce = 4;
/**
 * Expected size of one file in bytes. If the disk has less free space than this above its minimum, no file is begun.
 */
const roomForFile = 64 * 1024 ** 2;
/**
 * After a file that could not be written, for example because the storage is full, no file is begun for this many
 * milliseconds. The delay grows from `first` to `longest`.
 */
const pauses = { first: 1000, longest: 15_000 } as const;

interface ExportLoop extends Loop {
  /** Resolves when no file is being written. */
  settled(): Promise<void>;
}

export function exportDatasets(context: ExportsContext): ExportLoop {
  const { store, signals, disk, clock, log } = context;
  const next = takeTurns();
  const writing = new Map<number, Promise<void>>();
  const pause = new BackOff(clock, pauses);
  const begin = (row: ExportRow) => {
    const work = writeNext(context, row)
      .then(() => {
        if (pause.succeed()) log.info("files of exports can be written again");
      })
      .catch((error: Error) => {
        // The store itself logs that the database is unreachable.
        if (pause.fail() && !isUnavailable(error))
          log.warn({ err: error, export: row.id }, "could not write a file of an export; trying again");
      })
      .finally(() => {
        writing.delete(row.team_id);
        signals.changes.note(row.team_id, "datasets");
        signals.exports.wake();
      });
    writing.set(row.team_id, work);
  };
  return {
    name: "export-datasets",
    signal: signals.exports,
    interval: 5000,
    async runOnce() {
      while (pause.isOver && writing.size < atOnce && !(await disk.isLow(roomForFile))) {
        const row = await next(store.db, writing);
        if (!row) return;
        begin(row);
      }
    },
    async settled() {
      await Promise.all(writing.values());
    },
  };
}

/**
 * Returns a function that picks the next export. Teams take turns, and so do the exports of a team. The order is kept
 * in memory only, so it begins anew after a restart.
 */
function takeTurns(): (db: Db, busy: ReadonlyMap<number, unknown>) => Promise<ExportRow | undefined> {
  let lastTeam = 0;
  const lastExports = new Map<number, string>();
  return async (db, busy) => {
    const teams = (await teamsWithOpenExports(db)).filter((id) => !busy.has(id));
    const team = teams.find((id) => id > lastTeam) ?? teams[0];
    const row = team === undefined ? undefined : await nextOpenExport(db, team, lastExports.get(team) ?? "");
    if (!row) return undefined;
    lastTeam = row.team_id;
    lastExports.set(row.team_id, row.id);
    return row;
  };
}

async function writeNext(context: ExportsContext, row: ExportRow): Promise<void> {
  const { store, log } = context;
  const version = await getVersion(store.db, row.version_id);
  try {
    if (!version?.rows_table)
      throw new WarehouseUnusable("The dataset version was deleted, so its rows can no longer be exported.");
    const full = await whyNoExports(store.db, row.team_id, context.quotas);
    if (full !== undefined) throw new WarehouseUnusable(full);
    const rows = { table: version.rows_table, columns: columnsOfSchema(version.schema) };
    const size = await writeFile(context, row, { ...rows, ...rowsOfFile(row, version.num_objects ?? 0) });
    await store.write((db) => countFile(db, row, size));
  } catch (error) {
    // The dataset was renamed in the meantime: the next run finds it under its new name. After a full disk or a lost
    // database connection, the loop pauses and tries again.
    if ((await getVersion(store.db, row.version_id))?.rows_table !== version?.rows_table) return;
    if (isPassing(error)) throw error;
    if (!(error instanceof WarehouseUnusable)) log.error({ err: error, export: row.id }, "an export failed");
    const why =
      error instanceof WarehouseUnusable
        ? error.message
        : "The server could not write a file of the export. The server's log has the reason.";
    await store.write((db) => failExport(db, row.id, why));
    // The next run of the loop `sweep` deletes the files that could not be deleted here.
    await removeFiles(context.blobs, row.id).catch(() => {});
  }
}

type Rows = Parameters<Warehouses["exportRows"]>[1];

/** Writes the next file of the export, and returns its size in bytes. */
const writeFile = ({ warehouses, blobs }: ExportsContext, row: ExportRow, rows: Rows): Promise<number> =>
  blobs.make(exportName(row.id, row.files_done), (path) => warehouses.exportRows(row.team_id, rows, path));

async function removeFiles(blobs: Blobs, id: string): Promise<void> {
  for await (const { name } of blobs.list(exportFolder(id))) await blobs.remove(name);
}
