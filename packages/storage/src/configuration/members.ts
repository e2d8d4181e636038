/**
 * The members that a dict of client_config accepts. A member has its own row in the parameter table, or is a source of
 * another parameter.
 */
import type { ParameterTable } from "./parameters.ts";

/** Returns the direct members of a dict. */
export const membersOf = (table: ParameterTable, key: string): string[] => [
  ...new Set(membersBelow(table, key).map((name) => name.split(".")[0] ?? "")),
];

/** Returns the direct members of a dict and, as `a.b`, their own members. */
export function membersBelow(table: ParameterTable, key: string): string[] {
  const sources = Object.values(table).flatMap((parameter) => parameter.sources ?? []);
  const names = [...Object.keys(table), ...sources].filter((name) => name.startsWith(`${key}.`));
  return [...new Set(names.map((name) => name.slice(key.length + 1)))];
}
