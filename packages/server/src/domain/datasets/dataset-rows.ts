/** Pages of a version's rows for people to look at: from the team's warehouse, or from the registered first rows. */
import {
  ApiError,
  type Cell,
  type DatasetRows,
  parseExactly,
  type RouteInput,
  type routes,
  rowLimits,
} from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { getVersion, type ListedVersionRow } from "../../store/queries/datasets/dataset-versions.ts";
import { arrayText, objectText } from "./json-texts.ts";

/** The page that a child process reads from the team's warehouse. */
interface PageWish {
  readonly table: string;
  readonly columns: readonly string[];
  readonly after: string | undefined;
  readonly limit: number;
  readonly text: number;
  readonly bytes: number;
}

type Page = DatasetRows & { readonly next: string | undefined };
type Wishes = Pick<RouteInput<typeof routes.readRows>["query"], "limit" | "cursor">;

/** Returns a page of rows. `read` asks the warehouse; its answer is untrusted. */
export async function readPage(
  db: Db,
  { id, version, rows_table }: ListedVersionRow,
  { limit = 50, cursor }: Wishes,
  read: (wish: PageWish) => Promise<unknown>,
): Promise<Page> {
  const row = await getVersion(db, id);
  const all = columnsOf(row?.schema ?? null);
  if (rows_table === null) return previewPage(version, all, row?.preview ?? null, limit, Number(cursor ?? 0));
  const columns = all.slice(0, rowLimits.columns);
  const { text, bytes } = rowLimits;
  const names = columns.map(({ name }) => name);
  const after = cursor === undefined ? undefined : BigInt.asIntN(64, BigInt(cursor)).toString();
  const answer = await read({ table: rows_table, columns: names, after, limit, text, bytes });
  const { rows, next } = parsePage(answer, columns.length, limit);
  return { version, columns, more_columns: all.length - columns.length, rows, source: "warehouse", next };
}

type Columns = DatasetRows["columns"];

/** The columns of a schema without those that the library adds to every row. */
function columnsOf(schema: string | null): Columns {
  const types = JSON.parse(objectText(schema)) as Record<string, { type?: unknown } | null>;
  return Object.entries(types)
    .filter(([name]) => name !== "sys__id" && name !== "sys__rand")
    .map(([name, type]) => ({ name, type: typeof type?.type === "string" ? type.type : "" }));
}

/** The first rows, as they were registered. They may have columns that the schema lacks. */
function previewPage(version: string, known: Columns, preview: string | null, limit: number, from: number): Page {
  const first = (parseExactly(arrayText(preview) ?? "[]") as unknown[]).filter(isRow);
  const names = new Set(known.map(({ name }) => name));
  const further = new Set(first.flatMap((row) => Object.keys(row)).filter((name) => !/^sys__(id|rand)$/.test(name)));
  const all = [...known, ...[...further].filter((name) => !names.has(name)).map((name) => ({ name, type: "" }))];
  const columns = all.slice(0, rowLimits.columns);
  const end = Math.max(0, from) + limit;
  const rows = first
    .slice(Math.max(0, from), end)
    .map((row) => columns.map(({ name }) => previewCell(Object.hasOwn(row, name) ? row[name] : null)));
  const next = first.length > end ? String(end) : undefined;
  return { version, columns, more_columns: all.length - columns.length, rows, source: "preview", next };
}

const isRow = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function previewCell(value: unknown): Cell {
  if (value === undefined || value === null) return null;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (text.length <= rowLimits.text) return text;
  return { text: text.slice(0, rowLimits.text), length: Buffer.byteLength(text), binary: false };
}

/** Checks the answer of the child process: it read files that the team's jobs wrote. */
function parsePage(answer: unknown, width: number, most: number): { rows: Cell[][]; next: string | undefined } {
  const { rows, next } = (answer ?? {}) as { rows?: unknown; next?: unknown };
  const isPage = Array.isArray(rows) && rows.length <= most;
  const isNext = next === null || (typeof next === "string" && /^-?\d{1,19}$/.test(next));
  if (!isPage || !isNext) throw unreadable();
  return { rows: rows.map((row) => parseRow(row, width)), next: next ?? undefined };
}

function parseRow(row: unknown, width: number): Cell[] {
  if (!Array.isArray(row) || row.length !== width) throw unreadable();
  return row.map(parseCell);
}

function parseCell(cell: unknown): Cell {
  if (cell === null || isShort(cell)) return cell;
  const [text, length, binary, ...more] = Array.isArray(cell) ? (cell as unknown[]) : [];
  const isLength = typeof length === "number" && Number.isSafeInteger(length) && length >= 0;
  if (!isShort(text) || !isLength || typeof binary !== "boolean" || more.length > 0) throw unreadable();
  return { text, length, binary };
}

/** A character of SQLite may be two of JavaScript. */
const isShort = (text: unknown): text is string => typeof text === "string" && text.length <= 2 * rowLimits.text;

const unreadable = () =>
  new ApiError("wrong_state", "The rows cannot be read: the team's warehouse returned something else than rows.");
