/** Numbers that callers give: how many at once, how many bytes. Others would hang, or read nothing. */
import { StorageError } from "./errors.ts";

export function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw new StorageError("invalid", `${name}: expected a whole number, 1 or more, got ${value}`);
}
