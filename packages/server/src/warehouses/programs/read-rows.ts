/** Reads a page of a version's rows, with long values shortened. The content of the warehouse is untrusted. */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { quoted, realTable, storedColumns } from "./tables.ts";

export interface PageRequest {
  readonly table: string;
  /** Names of the columns to read. Columns that the table does not store are null. */
  readonly columns: readonly string[];
  /** Id of the last row of the page before, as text; undefined for the first page. */
  readonly after: string | undefined;
  readonly limit: number;
  /** Maximum number of characters of a value; of bytes, half as many are read. */
  readonly text: number;
  /** The page ends after the row with which its values reach this size. */
  readonly bytes: number;
}

/** A value: its text, or `[beginning, length, isBinary]` if it is long or bytes. Compact, because there are many. */
export type PageCell = string | readonly [string, number, boolean] | null;

export interface RowsPage {
  readonly rows: readonly (readonly PageCell[])[];
  /** Id of the last row if there may be more. */
  readonly next: string | null;
}

/** The beginning of a value is read only if the value is not larger than this, because SQLite loads it as a whole. */
const loadable = 16 * 1024 ** 2;

export function readRows(db: DatabaseSync, request: PageRequest): RowsPage {
  const { columns, after, limit, bytes } = request;
  const table = realTable(db, request.table);
  const stored = storedColumns(db, table);
  if (!stored.has("sys__id")) throw new Error(`The rows cannot be read: the table ${table} has no column sys__id`);
  const parts = columns.map((name) => (stored.has(name) ? beginningOf(quoted(name), request.text) : "null, null"));
  const where = after === undefined ? "" : "where sys__id > ?";
  const statement = db.prepare(
    `select ${["sys__id", ...parts].join(", ")} from ${quoted(table)} ${where} order by sys__id limit ?`,
  );
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  const rows: PageCell[][] = [];
  let last: string | null = null;
  let size = 0;
  const given = after === undefined ? [limit + 1] : [BigInt(after), limit + 1];
  for (const row of statement.iterate(...given) as Iterable<unknown>) {
    const [id = null, ...values] = row as SQLOutputValue[];
    if (rows.length === limit || size >= bytes) return { rows, next: last };
    const cells = columns.map((_, index) => cellOf(values[2 * index] ?? null, values[2 * index + 1] ?? null));
    size += cells.reduce((sum, cell) => sum + sizeOf(cell), 0);
    rows.push(cells);
    last = String(id);
  }
  return { rows, next: null };
}

/** SQL of the beginning of a value and, for texts and bytes, of its length in bytes. Numbers are read unchanged. */
function beginningOf(column: string, text: number): string {
  const long = `octet_length(${column})`;
  const cut = (length: number) => `case when ${long} <= ${loadable} then substr(${column}, 1, ${length}) else '' end`;
  return `case typeof(${column}) when 'text' then ${cut(text)} when 'blob' then ${cut(text >> 1)} else ${column} end,
    case when typeof(${column}) in ('text', 'blob') then case typeof(${column}) when 'blob' then -1 - ${long} else ${long} end end`;
}

/** The length is negative for bytes: a beginning that was not read has no type of its own. */
function cellOf(value: SQLOutputValue, length: SQLOutputValue): PageCell {
  if (value === null) return null;
  if (length === null) return String(value);
  const bytes = Number(length);
  if (bytes < 0)
    return [typeof value === "string" ? "" : Buffer.from(value as Uint8Array).toString("hex"), -1 - bytes, true];
  const text = String(value);
  return Buffer.byteLength(text) === bytes ? text : [text, bytes, false];
}

const sizeOf = (cell: PageCell) => (typeof cell === "string" ? cell.length : (cell?.[0].length ?? 0)) + 8;
