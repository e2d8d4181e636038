/** Reserved names of users and teams. The contract's schema checks the characters of a name. */
import { invalid, reservedNames } from "@millrace/contract";

/** Returns the name, or throws if it is reserved. */
export function checkName(field: string, name: string): string {
  if (reservedNames.includes(name)) throw invalid(field, "another name: this one is reserved", name);
  return name;
}
