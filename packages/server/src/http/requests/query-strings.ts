/** Query strings as values: numbers and `True/true/1` are read by what the schema expects, lists may be repeated. */
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

/** Free text that is empty is absent. Where only certain values will do, none is a mistake, as in `limit=`. */
const mayBeEmpty = ({ type, pattern, enum: values }: { type?: string; pattern?: string; enum?: unknown[] }) =>
  type === "string" && pattern === undefined && values === undefined;

/** What cannot be read stays as it came, for the validation to name. */
function readOne(type: string | undefined, text: unknown): unknown {
  if (typeof text !== "string") return text;
  if (type === "integer" || type === "number") return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
  if (type === "boolean") {
    if (/^(true|1|yes|on)$/i.test(text)) return true;
    if (/^(false|0|no|off)$/i.test(text)) return false;
  }
  return text;
}
