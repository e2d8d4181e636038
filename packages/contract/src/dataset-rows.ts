/** Rows of a dataset version as texts, a page at a time, for people to look at. */
import type { Static } from "typebox";
import { namedInQuery } from "./datasets.ts";
import { access, defineRoute } from "./routes.ts";
import { nextCursor, oneOf } from "./schema.ts";
import { Type } from "./type.ts";

export const rowLimits = {
  /** Maximum number of rows in one answer. */
  rows: 200,
  /** Maximum number of columns in an answer. */
  columns: 300,
  /** Maximum length of a value in characters; of bytes, half as many are shown. */
  text: 300,
  /** An answer ends after a row with which the values reach this size in bytes. */
  bytes: 1_048_576,
} as const;

/** A value that is too long for the answer, or bytes. */
interface CutCell {
  /** The beginning of the text, or of the bytes as hexadecimal digits. */
  readonly text: string;
  /** Length of the whole value in bytes. */
  readonly length: number;
  readonly binary: boolean;
}

export type Cell = string | CutCell | null;

const CellSchema = Type.Unsafe<Cell>({
  type: ["string", "object", "null"],
  properties: {
    text: { type: "string", description: "the beginning: of bytes, as hexadecimal digits" },
    length: { type: "integer", description: "length of the whole value in bytes" },
    binary: { type: "boolean" },
  },
  description: "text of the value; numbers keep all digits; an object if the value is long or bytes",
});

export const DatasetRows = Type.Object(
  {
    version: Type.String(),
    columns: Type.Array(
      Type.Object({ name: Type.String(), type: Type.String({ description: "the library's name of the type" }) }),
    ),
    more_columns: Type.Integer({ description: "number of further columns, which the answer leaves out" }),
    rows: Type.Array(Type.Array(CellSchema), { description: "the values of each row, in the order of `columns`" }),
    source: oneOf(["warehouse", "preview"], {
      description: "`preview`: the first rows, as an external producer registered them; the others are elsewhere",
    }),
  },
  { $id: "DatasetRows" },
);
export type DatasetRows = Static<typeof DatasetRows>;

export const readRows = defineRoute({
  id: "readRows",
  method: "GET",
  path: "/api/datachain/datasets/rows",
  tag: "Datasets",
  summary: "Read rows of a version in the order of their ids, with long values shortened",
  access: access("DATASETS", "read", "viewer"),
  query: Type.Object({
    ...namedInQuery,
    version: Type.Optional(Type.String({ maxLength: 64, description: "default: the newest version" })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: rowLimits.rows, default: 50 })),
    cursor: Type.Optional(Type.String({ pattern: "^-?\\d{1,19}$", description: "from x-next-cursor" })),
  }),
  response: DatasetRows,
  responseHeaders: nextCursor,
  errors: ["not_found", "wrong_state"],
});
