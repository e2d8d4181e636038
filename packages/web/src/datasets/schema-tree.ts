/** The schema of a version as a tree of fields, and the difference of two schemas. */

export interface SchemaField {
  readonly name: string;
  /** The type in words: `str or null`, `list of File`. */
  readonly type: string;
  readonly fields: readonly SchemaField[];
}

type Json = Readonly<Record<string, unknown>>;

/** A type may contain itself; deeper levels are left out. */
const deepest = 8;

/**
 * Returns the fields of a version. `signals` is the schema of the library, which names the types of nested fields. If it
 * is empty, the columns are grouped by the double underscores in their names.
 */
export function schemaTree(columns: Json, signals: Json): SchemaField[] {
  const { _custom_types: types, ...named } = signals;
  const shown = Object.entries(named).filter(([name]) => name !== "sys" && !name.startsWith("_"));
  if (shown.length === 0) return columnTree(columns);
  return shown.map(([name, type]) => signalField(name, String(type), isJson(types) ? types : {}, deepest));
}

const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value);

function signalField(name: string, type: string, types: Json, depth: number): SchemaField {
  const custom = type.match(/[^\s[\],|]+@v\d+/g)?.find((part) => isJson(types[part]));
  const inner = custom === undefined || depth === 0 ? {} : fieldsOf(types[custom] as Json);
  const fields = Object.entries(inner).map(([field, text]) => signalField(field, String(text), types, depth - 1));
  return { name, type: typeWords(type), fields };
}

/** The fields of a type; older versions of the library wrote them without the level `fields`. */
const fieldsOf = (type: Json): Json => (isJson(type["fields"]) ? type["fields"] : type);

/** Says a type of the library in words: `Optional[list[File@v1]]` is `list of File or null`. */
export function typeWords(type: string): string {
  const text = type.trim();
  const [, outer, inner] = /^(Optional|list|List)\[(.*)\]$/s.exec(text) ?? [];
  if (outer === "Optional") return `${typeWords(inner ?? "")} or null`;
  const [, either] = /^Union\[(.*), ?(?:NoneType|None)\]$/s.exec(text) ?? [];
  if (either !== undefined && !either.includes(",")) return `${typeWords(either)} or null`;
  if (outer !== undefined) return `list of ${typeWords(inner ?? "")}`;
  return text.replace(/@v\d+/g, "");
}

interface Group {
  type: string | undefined;
  readonly groups: Map<string, Group>;
}

function columnTree(columns: Json): SchemaField[] {
  const root: Group = { type: undefined, groups: new Map() };
  for (const [name, type] of Object.entries(columns)) {
    if (/^sys__/.test(name)) continue;
    let group = root;
    for (const part of name.split(/(?<=[^_])__(?=[^_])/).slice(0, deepest)) {
      const next = group.groups.get(part) ?? { type: undefined, groups: new Map() };
      group.groups.set(part, next);
      group = next;
    }
    group.type = columnWords(type);
  }
  return groupFields(root);
}

const groupFields = ({ groups }: Group): SchemaField[] =>
  [...groups].map(([name, group]) => ({ name, type: group.type ?? "", fields: groupFields(group) }));

/** Says the type of a column in words. */
function columnWords(type: unknown): string {
  if (!isJson(type)) return String(type);
  const { type: name, item_type, dc_nullable } = type;
  const word = name === "Array" ? `list of ${columnWords(item_type ?? { type: "String" })}` : String(name);
  return dc_nullable === true ? `${word} or null` : word;
}

/** A field that one of two schemas lacks, or that has another type there. */
export interface Difference {
  /** Names from the outermost field to this one, joined by dots. */
  readonly path: string;
  /** The type; undefined if the schema lacks the field. */
  readonly before: string | undefined;
  readonly after: string | undefined;
}

export function schemaDifference(before: readonly SchemaField[], after: readonly SchemaField[]): Difference[] {
  const [old, now] = [pathTypes(before), pathTypes(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .map((path) => ({ path, before: old.get(path), after: now.get(path) }))
    .filter((field) => field.before !== field.after);
}

function pathTypes(fields: readonly SchemaField[], above = "", found = new Map<string, string>()): Map<string, string> {
  for (const { name, type, fields: inner } of fields) {
    found.set(above + name, type);
    pathTypes(inner, `${above}${name}.`, found);
  }
  return found;
}

export const countFields = (fields: readonly SchemaField[]): number =>
  fields.reduce((sum, { fields: inner }) => sum + 1 + countFields(inner), 0);
