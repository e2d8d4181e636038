/** Validates numbers from callers and sizes from stores, because invalid ones would cause hangs or empty reads. */
import { StorageError } from "./errors.ts";

export function checkCount(name: string, value: number | undefined): void {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 1)) return;
  throw new StorageError("invalid", `${name}: expected a whole number, 1 or more, got ${value}`);
}

/** Validates a size that a store reported, because all byte counting relies on it. */
export function checkedSize(told: string | number, path: string): number {
  const size = typeof told === "number" || /^\d+$/.test(told) ? Number(told) : Number.NaN;
  if (Number.isSafeInteger(size) && size >= 0) return size;
  const said = JSON.stringify(String(told).slice(0, 40));
  throw new StorageError("failed", `${path}: the store reported an invalid size: ${said}`);
}
