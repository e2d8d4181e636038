/** Converts errors of the file system to storage errors. */
import { type ErrorCode, StorageError } from "../../errors.ts";

const codes: Readonly<Record<string, ErrorCode>> = {
  ENOENT: "not_found",
  ENOTDIR: "not_found",
  EISDIR: "not_found",
  ELOOP: "not_found",
  EACCES: "permission",
  EPERM: "permission",
  EROFS: "permission",
  EEXIST: "precondition",
  ENAMETOOLONG: "invalid",
};

const tooMany = ["EMFILE", "ENFILE", "EAGAIN", "EBUSY"];

export function toStorageError(error: unknown, key: string): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (typeof code !== "string" || !/^E[A-Z0-9]+$/.test(code)) return error;
  const retryable = tooMany.includes(code);
  return new StorageError(codes[code] ?? "failed", message, { scheme: "file", key, retryable, cause: error });
}

/** Runs work on a file and converts its errors to storage errors. */
export async function named<T>(key: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toStorageError(error, key);
  }
}
