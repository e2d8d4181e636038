/** Refuses reserved names of users and teams. The contract's schema checks the characters of a name. */
import { invalid, reservedNames } from "@millrace/contract";

/** Returns the name, or throws if it is reserved. */
export function checkName(field: string, name: string): string {
  if (reservedNames.includes(name)) throw invalid(field, "a name that is not reserved", name);
  return name;
}
