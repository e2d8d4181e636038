/** Numbers that callers give, and sizes that stores tell: wrong ones would hang, or read nothing. */
import { StorageError } from "./errors.ts";

export function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw new StorageError("invalid", `${name}: expected a whole number, 1 or more, got ${value}`);
}

/** A size as a store tells it: everything that counts bytes relies on it. */
export function checkedSize(told: string | number, path: string): number {
  const size = typeof told === "number" || /^\d+$/.test(told) ? Number(told) : Number.NaN;
  if (Number.isSafeInteger(size) && size >= 0) return size;
  const said = JSON.stringify(String(told).slice(0, 40));
  throw new StorageError("failed", `${path}: the store tells a size of ${said}, which is no number of bytes`);
}
