/** Safe access to the tables of a team's warehouse, in which jobs can create anything. */
import type { DatabaseSync } from "node:sqlite";

export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Tells whether this is an ordinary table. Reading a view or a virtual table could run a job's code. */
export function isRealTable(database: DatabaseSync, name: string): boolean {
  const found = database.prepare("select type, sql from sqlite_schema where name = ?").all(name);
  return found.length === 1 && found.every(({ type, sql }) => type === "table" && /^create table\b/i.test(String(sql)));
}

export function realTable(database: DatabaseSync, name: string): string {
  if (!isRealTable(database, name)) throw new Error(`There is no table ${name} in the team's warehouse`);
  return name;
}

/** Returns the columns of a table, which differ between versions of the library. */
export const columnsOf = (database: DatabaseSync, table: string): Set<string> =>
  new Set(
    database
      .prepare(`select * from ${quoted(realTable(database, table))} limit 0`)
      .columns()
      .map(({ name }) => name),
  );

/**
 * Returns the columns that are stored in the table. Computed columns are excluded, because they can be of any size.
 * Names are case-sensitive here, unlike in SQLite.
 */
export const storedColumns = (database: DatabaseSync, table: string): Set<string> =>
  new Set(
    database
      .prepare("select name from pragma_table_xinfo(?) where hidden = 0")
      .all(table)
      .map(({ name }) => String(name)),
  );

/**
 * Runs a short transaction that takes the write lock at its start. A transaction that begins with a read would fail at
 * its first write if another process is writing.
 */
export function transaction(database: DatabaseSync, work: () => void): void {
  database.exec("begin immediate");
  try {
    work();
    database.exec("commit");
  } catch (error) {
    database.exec("rollback");
    throw error;
  }
}
