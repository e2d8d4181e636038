/** A team's store as a child opens it: nothing in it is believed. */
import { lstatSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { unusable } from "./unusable.ts";

/** The library makes tables and indexes; anything else would run when we read. */
const foreign = "type in ('view', 'trigger') or (type = 'table' and sql like 'create virtual%')";

/** Memory that SQLite may take, in bytes. */
const heap = 512 * 1024 * 1024;
/** How long to wait for a job that writes, in milliseconds. */
const patience = 60_000;

export interface StoreFiles {
  readonly metadata: string;
  readonly rows: string;
}

export function openDatabase(path: string, access: "read" | "write"): DatabaseSync {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) throw unusable("it is gone");
  if (!found.isFile()) throw unusable("something that is not a plain file lies in its place");
  const readOnly = access === "read";
  const options = { readOnly, timeout: patience, readBigInts: true, defensive: true, allowExtension: false };
  const db = new DatabaseSync(path, options);
  db.exec(`pragma trusted_schema = off; pragma cell_size_check = on; pragma hard_heap_limit = ${heap}`);
  const strange = db.prepare(`select type, name from sqlite_schema where ${foreign} limit 1`).get();
  if (strange) {
    const what = strange["type"] === "table" ? "virtual table" : strange["type"];
    throw unusable(`it holds a ${what} (${String(strange["name"]).slice(0, 100)}), which the library never makes`);
  }
  return db;
}

/** The columns of a table, by name; empty: there is none. Versions of the library differ in them. */
export function columnsOf(db: DatabaseSync, table: string): Set<string> {
  const rows = db.prepare("select name from pragma_table_info(?)").all(table);
  return new Set(rows.map(({ name }) => String(name)));
}

/** Throws where a table lacks a column that we cannot do without. */
export function requireColumns(db: DatabaseSync, table: string, names: readonly string[]): void {
  const has = columnsOf(db, table);
  const missing = names.filter((name) => !has.has(name));
  if (missing.length === 0) return;
  const what = has.size === 0 ? `there is no table ${table}` : `the table ${table} has no column ${missing.join(", ")}`;
  throw unusable(`${what}. This version of the library is not known to Millrace`);
}
