/** Reads the columns of a version's rows from the schema that the dataset library wrote. */
import { WarehouseUnusable } from "./warehouse-processes.ts";

/** A column type. `type` is the library's name for it; lists also have the type of their items. */
export interface ColumnType {
  readonly type: string;
  readonly itemType?: ColumnType;
}

export interface Column extends ColumnType {
  readonly name: string;
}

interface SchemaType {
  readonly type?: unknown;
  readonly item_type?: SchemaType | null;
}

/** Parses a schema into columns. Adds the id column, which every row has, if the schema omits it. */
export function columnsOfSchema(schema: string): Column[] {
  const named = Object.entries(parse(schema)).map(([name, type]) => ({ name, ...columnType(type) }));
  return named.some(({ name }) => name === "sys__id") ? named : [{ name: "sys__id", type: "UInt64" }, ...named];
}

function parse(schema: string): Record<string, SchemaType | null> {
  try {
    return JSON.parse(schema) as Record<string, SchemaType | null>;
  } catch {
    throw new WarehouseUnusable(
      "The rows cannot be exported: the schema of the dataset version is not valid JSON. Create a new version of the dataset.",
    );
  }
}

const columnType = (given: SchemaType | null | undefined): ColumnType => ({
  type: String(given?.type ?? "String"),
  ...(given?.item_type ? { itemType: columnType(given.item_type) } : {}),
});
