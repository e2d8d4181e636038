/** Maps each column type to the Parquet type that the client expects, and converts the warehouse's values to it. */
import type { SQLOutputValue } from "node:sqlite";
import { parseExactly, replaceBareNumbers } from "@millrace/contract";
import type { SchemaElement } from "hyparquet-writer";
import type { Column, ColumnType } from "../columns.ts";

interface Encoder {
  readonly elements: SchemaElement[];
  readonly isInteger: boolean;
  encode(value: NonNullable<SQLOutputValue>): unknown;
}

const integers = ["Int", "Int32", "UInt32", "Int64", "UInt64"];
const floats = ["Float", "Float32", "Float64"];

export function encoderOf(column: Column): Encoder {
  const isInteger = integers.includes(column.type);
  const encode = valueEncoder(column);
  return {
    elements: elementsOf(column.name, column, false),
    isInteger,
    encode(value) {
      const encoded = encode(value);
      if (encoded === undefined)
        throw new Error(
          `The column ${column.name} of type ${column.type} contains a value of another type, so the rows cannot be exported`,
        );
      return encoded;
    },
  };
}

/** Returns the Parquet schema of a column. Columns of times are seconds since 1970; times inside lists stay text. */
function elementsOf(name: string, { type, itemType }: ColumnType, isItem: boolean): SchemaElement[] {
  const base = { name, repetition_type: "OPTIONAL" } as const;
  if (integers.includes(type)) return [{ ...base, type: "INT64" }];
  if (floats.includes(type) || (type === "DateTime" && !isItem)) return [{ ...base, type: "DOUBLE" }];
  if (type === "Boolean") return [{ ...base, type: "BOOLEAN" }];
  if (type === "Binary") return [{ ...base, type: "BYTE_ARRAY" }];
  if (type !== "Array") return [{ ...base, type: "BYTE_ARRAY", converted_type: "UTF8" }];
  return [
    { ...base, num_children: 1, converted_type: "LIST" },
    { name: "list", repetition_type: "REPEATED", num_children: 1 },
    ...elementsOf("element", itemType ?? { type: "String" }, true),
  ];
}

type Value = NonNullable<SQLOutputValue>;

/**
 * Returns a function that converts a value. That function returns undefined if the value does not fit the column type.
 */
function valueEncoder({ type, itemType = { type: "String" } }: ColumnType): (value: Value) => unknown {
  if (integers.includes(type)) return integer;
  if (floats.includes(type)) return (value) => (isNumber(value) ? Number(value) : undefined);
  if (type === "Boolean") return (value) => (isNumber(value) ? Number(value) !== 0 : undefined);
  if (type === "DateTime") return seconds;
  if (type === "Binary") return (value) => (isNumber(value) ? undefined : Buffer.from(value));
  if (type === "Array") return (value) => (typeof value === "string" ? readList(value, itemType) : undefined);
  // A column of JSON texts may hold a bare JSON number, which SQLite stores as a number.
  return (value) => (value instanceof Uint8Array ? undefined : String(value));
}

const isNumber = (value: Value): value is number | bigint => typeof value === "number" || typeof value === "bigint";

function integer(value: Value): bigint | undefined {
  if (typeof value === "bigint") return value;
  return typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? BigInt(value) : undefined;
}

const time =
  /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?(?:Z|([+-])(\d\d):(\d\d)(?::\d\d)?)?$/;

/** Converts a UTC time text, with or without an offset, to seconds since 1970. */
function seconds(value: Value): number | undefined {
  if (isNumber(value)) return Number(value);
  const match = typeof value === "string" ? time.exec(value) : null;
  if (!match) return undefined;
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0));
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const offset = (match[8] === "-" ? -1 : 1) * (Number(match[9] ?? 0) * 3600 + Number(match[10] ?? 0) * 60);
  const microseconds = Number((match[7] ?? "").padEnd(6, "0"));
  return notBefore(date.getTime() / 1000 - offset, microseconds);
}

/**
 * Returns the time as a double that is not below the exact value. The reader rounds down to microseconds, so a double
 * slightly below the exact value would be read as one microsecond less.
 */
function notBefore(whole: number, microseconds: number): number {
  const nearest = whole + microseconds / 1e6;
  return (nearest - whole) * 1e6 < microseconds ? nextUp(nearest) : nearest;
}

function nextUp(value: number): number {
  const bits = new BigInt64Array(new Float64Array([value]).buffer);
  bits[0] = (bits[0] ?? 0n) + (value < 0 ? -1n : 1n);
  return new Float64Array(bits.buffer)[0] ?? value;
}

/** Parses a JSON list; returns undefined if the text is no list or has items of another type. */
function readList(text: string, itemType: ColumnType): unknown[] | undefined {
  const { type } = leafOf(itemType);
  const readNumber = integers.includes(type) ? wholeNumber : floats.includes(type) ? Number : undefined;
  try {
    // NaN and Infinity are not valid JSON: they become strings first, then numbers again where the type requires it.
    const list = parseExactly(replaceBareNumbers(text, JSON.stringify), readNumber);
    return Array.isArray(list) ? list.map((item) => readItem(item, itemType)) : undefined;
  } catch {
    return undefined;
  }
}

const leafOf = (type: ColumnType): ColumnType =>
  type.type === "Array" && type.itemType ? leafOf(type.itemType) : type;

/** Parses a whole number that a list may contain in fractional form, such as 1.0. */
const wholeNumber = (source: string) => BigInt(/^-?\d+$/.test(source) ? source : Number(source));

/** Returns the value, or throws if it needs more than 64 bits. */
function fitting(value: bigint): bigint {
  if (BigInt.asIntN(64, value) !== value) throw new Error("too large");
  return value;
}

function readItem(item: unknown, { type, itemType = { type: "String" } }: ColumnType): unknown {
  if (item === null) return null;
  if (type === "Array") {
    if (!Array.isArray(item)) throw new Error("not a list");
    return item.map((inner) => readItem(inner, itemType));
  }
  if (integers.includes(type)) return fitting(BigInt(item as bigint | boolean));
  if (floats.includes(type)) return Number(item);
  if (type === "Boolean") return Boolean(item);
  return typeof item === "string" ? item : JSON.stringify(item);
}
