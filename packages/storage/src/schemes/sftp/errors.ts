/** Converts errors of SSH and SFTP to storage errors. */
import { describePlace, type ErrorCode, type ErrorPlace, isStorageError, StorageError } from "../../errors.ts";

/** Storage error codes by SFTP status code. */
const statuses: Readonly<Record<number, ErrorCode>> = {
  2: "not_found",
  3: "permission",
  5: "failed",
  6: "network",
  7: "network",
  8: "unsupported",
};

export const noSuchFile = 2;
export const endOfFile = 1;
export const generalFailure = 4;

export const statusOf = (error: unknown) => (error as { code?: unknown }).code;

interface SshError extends Error {
  readonly level?: string;
  readonly code?: number | string;
}

export function toStorageError(error: unknown, place: ErrorPlace): unknown {
  if (isStorageError(error) || !(error instanceof Error)) return error;
  const { level, code, message } = error as SshError;
  const details = { ...place, cause: error };
  const where = describePlace(place);
  if (level === "client-authentication") return new StorageError("permission", `${where}: ${message}`, details);
  if (/privateKey/.test(message))
    return new StorageError(
      "config",
      `cannot use the private key: ${message}; check pkey, key_filename and passphrase`,
      details,
    );
  if (typeof code === "number") return new StorageError(statuses[code] ?? "failed", `${where}: ${message}`, details);
  const retryable = code !== "ENOTFOUND" && !/^Handshake failed|no matching/i.test(message);
  return new StorageError("network", `${where}: ${message}`, { ...details, retryable });
}
