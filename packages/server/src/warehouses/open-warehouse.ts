/** A team's warehouse as a child opens it: nothing in it is believed. */
import { lstatSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { columnsOf, isRealTable } from "./programs/tables.ts";
import { unusable } from "./unusable.ts";

/** The library makes tables and indexes; anything else would run when we read. */
const foreign = "type in ('view', 'trigger') or (type = 'table' and sql like 'create virtual%')";

/** Of any one value, in bytes: a column may be computed, and as long as somebody likes. */
const limits = { length: 256 * 1024 * 1024 };
/** How long to wait for a job that writes, in milliseconds. */
const patience = 60_000;

export function openDatabase(path: string, access: "read" | "write"): DatabaseSync {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) throw unusable("it is gone");
  if (!found.isFile()) throw unusable("something that is not a plain file lies in its place");
  const readOnly = access === "read";
  const db = new DatabaseSync(path, { readOnly, timeout: patience, defensive: true, allowExtension: false, limits });
  db.exec(`pragma trusted_schema = off; pragma synchronous = normal; pragma cell_size_check = on;`);
  const strange = db.prepare(`select type, name from sqlite_schema where ${foreign} limit 1`).get();
  if (strange) {
    const what = strange["type"] === "table" ? "virtual table" : strange["type"];
    throw unusable(`it holds a ${what} (${String(strange["name"]).slice(0, 100)}), which the library never makes`);
  }
  return db;
}

/** Throws where a table lacks a column that we cannot do without. */
export function requireColumns(db: DatabaseSync, table: string, names: readonly string[]): void {
  const has = isRealTable(db, table) ? columnsOf(db, table) : new Set<string>();
  const missing = names.filter((name) => !has.has(name));
  if (missing.length === 0) return;
  const what = has.size === 0 ? `there is no table ${table}` : `the table ${table} has no column ${missing.join(", ")}`;
  throw unusable(`${what}. This version of the library is not known to Millrace`);
}
