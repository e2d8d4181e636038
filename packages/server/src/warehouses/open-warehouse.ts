/** Opens a team's warehouse in a child process. Its content is untrusted. */
import { lstatSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { columnsOf, isRealTable } from "./programs/tables.ts";
import { unusable } from "./unusable.ts";

/**
 * SQL condition that finds views, triggers and virtual tables. The library never creates any, and reading them could
 * run code.
 */
const foreign = "type in ('view', 'trigger') or (type = 'table' and sql like 'create virtual%')";

/** Maximum size of a single value in bytes. Without this limit, a computed column could be of any size. */
const limits = { length: 256 * 1024 * 1024 };
/** How long to wait for a job that is writing, in milliseconds. */
const patience = 60_000;

export function openDatabase(path: string, access: "read" | "write"): DatabaseSync {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) throw unusable("its file is missing");
  if (!found.isFile()) throw unusable("its file is not a plain file");
  const readOnly = access === "read";
  const db = new DatabaseSync(path, { readOnly, timeout: patience, defensive: true, allowExtension: false, limits });
  db.exec(`pragma trusted_schema = off; pragma synchronous = normal; pragma cell_size_check = on;`);
  const strange = db.prepare(`select type, name from sqlite_schema where ${foreign} limit 1`).get();
  if (strange) {
    const what = strange["type"] === "table" ? "virtual table" : strange["type"];
    throw unusable(
      `it contains a ${what} (${String(strange["name"]).slice(0, 100)}), which the dataset library never creates`,
    );
  }
  return db;
}

/** Throws if a required column of a table is missing. */
export function requireColumns(db: DatabaseSync, table: string, names: readonly string[]): void {
  const has = isRealTable(db, table) ? columnsOf(db, table) : new Set<string>();
  const missing = names.filter((name) => !has.has(name));
  if (missing.length === 0) return;
  const what = has.size === 0 ? `there is no table ${table}` : `the table ${table} has no column ${missing.join(", ")}`;
  throw unusable(`${what}. It was written by a version of the dataset library that is not known to Millrace`);
}
