/**
 * Converts the values of a query string to the types in the schema: numbers, and booleans such as `True`, `true` or
 * `1`. A parameter may be repeated to give a list.
 */
import { invalid } from "@millrace/contract";
import type { TObject } from "typebox";

export function readQuery(schema: TObject, raw: Record<string, unknown>): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, property] of Object.entries(schema.properties)) {
    const given = raw[name];
    if (given === undefined || (given === "" && mayBeEmpty(property))) continue;
    if ([given].flat().some((text) => String(text).includes("\0"))) throw invalid(name, "text without NUL characters");
    const type = (property as { type?: string }).type;
    if (type === "array") values[name] = [given].flat();
    else values[name] = readOne(type, Array.isArray(given) ? given.at(-1) : given);
  }
  return values;
}

/**
 * Tells whether an empty parameter counts as absent. This is so for free text. For other types, an empty parameter such
 * as `limit=` is an error.
 */
const mayBeEmpty = ({ type, pattern, enum: values }: { type?: string; pattern?: string; enum?: unknown[] }) =>
  type === "string" && pattern === undefined && values === undefined;

/** Converts one value. A value that cannot be converted is returned unchanged, and the validation reports it. */
function readOne(type: string | undefined, text: unknown): unknown {
  if (typeof text !== "string") return text;
  if (type === "integer" || type === "number") return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (type === "boolean") {
    if (/^(true|1|yes|on)$/i.test(text)) return true;
    if (/^(false|0|no|off)$/i.test(text)) return false;
  }
  return text;
}
