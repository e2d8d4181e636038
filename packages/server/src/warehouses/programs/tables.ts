/** Tables of a team's warehouse, looked at before they are used: a job may have put anything in their place. */
import type { DatabaseSync } from "node:sqlite";

export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** A table that stores its rows itself: no view and no virtual table, whose reading runs somebody's code. */
export function isRealTable(database: DatabaseSync, name: string): boolean {
  const found = database.prepare("select type, sql from sqlite_schema where name = ?").all(name);
  return found.length === 1 && found.every(({ type, sql }) => type === "table" && /^create table\b/i.test(String(sql)));
}

export function realTable(database: DatabaseSync, name: string): string {
  if (!isRealTable(database, name)) throw new Error(`There is no table ${name} in the team's warehouse`);
  return name;
}

/** The columns of a table; library versions differ in them. */
export const columnsOf = (database: DatabaseSync, table: string): Set<string> =>
  new Set(
    database
      .prepare(`select * from ${quoted(realTable(database, table))} limit 0`)
      .columns()
      .map(({ name }) => name),
  );

/** Those whose values lie in the table: a computed one can be of any size, whatever the warehouse takes. Names are exact, though SQLite takes `N` for `n`. */
export const storedColumns = (database: DatabaseSync, table: string): Set<string> =>
  new Set(
    database
      .prepare("select name from pragma_table_xinfo(?) where hidden = 0")
      .all(table)
      .map(({ name }) => String(name)),
  );

/** Short, and begun as a writer: one that becomes a writer halfway fails where another writes. */
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
