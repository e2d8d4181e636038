/** The columns of a version's rows, from the schema that the library wrote. */
import { WarehouseUnusable } from "./warehouse-processes.ts";

/** A type in the library's own words; that of a list says what is in it. */
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

/** Every row has an id, whether the schema says so or not. */
export function columnsOfSchema(schema: string): Column[] {
  const named = Object.entries(parse(schema)).map(([name, type]) => ({ name, ...columnType(type) }));
  return named.some(({ name }) => name === "sys__id") ? named : [{ name: "sys__id", type: "UInt64" }, ...named];
}

function parse(schema: string): Record<string, SchemaType | null> {
  try {
    return JSON.parse(schema) as Record<string, SchemaType | null>;
  } catch {
    throw new WarehouseUnusable("The schema of the version cannot be read");
  }
}

const columnType = (given: SchemaType | null | undefined): ColumnType => ({
  type: String(given?.type ?? "String"),
  ...(given?.item_type ? { itemType: columnType(given.item_type) } : {}),
});
