/**
 * Writes one file of a version's rows in the client's format: Parquet in an LZ4 frame. The warehouse was written by the
 * team's jobs, so its content is untrusted.
 */
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { parquetWriteBuffer } from "hyparquet-writer";
import { compressFrameSync } from "lz4-napi";
import type { Column } from "../columns.ts";
import { encoderOf } from "./column-encodings.ts";
import { quoted, realTable, storedColumns } from "./tables.ts";

export interface RowsRequest {
  readonly table: string;
  readonly columns: readonly Column[];
  /** Number of rows to skip, in the order of their ids. Earlier files of the export contain these rows. */
  readonly from: number;
  readonly limit: number;
}

/** Largest size of the rows in one export file, in bytes. The export fails if they are larger. */
const largest = 512 * 1024 ** 2;

export function exportRows(rows: DatabaseSync, request: RowsRequest): Uint8Array {
  const table = realTable(rows, request.table);
  const stored = storedColumns(rows, table);
  const missing = request.columns.find(({ name }) => !stored.has(name));
  if (missing)
    throw new Error(
      `The schema has a column ${missing.name}, but the table ${table} does not store it, so the rows cannot be exported`,
    );
  const columns = request.columns.map((column) => ({ ...column, ...encoderOf(column), data: [] as unknown[] }));
  const names = columns.map(({ name }) => quoted(name)).join(", ");
  const statement = rows.prepare(`select ${names} from ${quoted(table)} order by sys__id limit ? offset ?`);
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  let size = 0;
  for (const row of statement.iterate(request.limit, request.from) as Iterable<unknown>) {
    for (const [index, column] of columns.entries()) {
      const value = (row as SQLOutputValue[])[index] ?? null;
      size += sizeOf(value);
      column.data.push(value === null ? null : column.encode(value));
    }
    if (size > largest)
      throw new Error(
        `${request.limit} rows of ${table} are too large for one file. The operator can lower MILLRACE_EXPORT_ROWS`,
      );
  }
  const file = parquetWriteBuffer({
    columnData: columns.map(({ name, data }) => ({ name, data })),
    schema: [{ name: "root", num_children: columns.length }, ...columns.flatMap(({ elements }) => elements)],
    codec: "UNCOMPRESSED",
    rowGroupSize: Math.max(request.limit, 1),
    kvMetadata: [{ key: "pandas", value: pandasMetadata(columns) }],
  });
  return compressFrameSync(Buffer.from(file));
}

const sizeOf = (value: SQLOutputValue) => (typeof value === "string" || value instanceof Uint8Array ? value.length : 8);

/**
 * Declares integer columns as nullable integers. Otherwise pandas would read a column with nulls as floats, and lose
 * digits beyond 2^53.
 */
function pandasMetadata(columns: readonly { name: string; isInteger: boolean }[]): string {
  const described = columns
    .filter(({ isInteger }) => isInteger)
    .map(({ name }) => ({ name, field_name: name, pandas_type: "int64", numpy_type: "Int64", metadata: null }));
  return JSON.stringify({ index_columns: [], column_indexes: [], columns: described, pandas_version: "2.0.0" });
}
