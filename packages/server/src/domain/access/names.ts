/** Names of users and teams: the schema says which letters, this says which words. */
import { invalid, reservedNames } from "@millrace/contract";

export function checkName(field: string, name: string): string {
  if (reservedNames.includes(name)) throw invalid(field, "another name: this one is reserved", name);
  return name;
}
