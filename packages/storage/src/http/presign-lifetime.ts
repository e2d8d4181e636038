/** Checks the lifetime of presigned URLs. */
import { describePlace, type ErrorPlace, StorageError } from "../errors.ts";

/** Maximum lifetime of version 4 signatures in seconds: seven days. */
export const longestLifetime = 7 * 24 * 3600;

export function checkLifetime(expiresIn: number, longest: number, place: ErrorPlace): void {
  if (Number.isInteger(expiresIn) && expiresIn >= 1 && expiresIn <= longest) return;
  const message = `expiresIn: expected whole seconds from 1 to ${longest}, got ${expiresIn}`;
  throw new StorageError("invalid", `${describePlace(place)}: ${message}`, place);
}
