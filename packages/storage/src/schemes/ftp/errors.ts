/**
 * Converts error answers of FTP servers to storage errors. Servers answer most errors with code 550, so only the text
 * of the answer tells what the error is.
 */
import { FTPError } from "basic-ftp";
import { describePlace, type ErrorCode, type ErrorPlace, isStorageError, StorageError } from "../../errors.ts";
import { mostTold, TooLongError } from "../../http/bounds.ts";
import { describeCertificateError } from "../../http/certificates.ts";

const codes: Readonly<Record<number, ErrorCode>> = {
  421: "throttled",
  425: "network",
  426: "network",
  430: "permission",
  450: "throttled",
  530: "permission",
  532: "permission",
  550: "not_found",
  553: "permission",
};

export function toStorageError(error: unknown, place: ErrorPlace): unknown {
  if (isStorageError(error) || !(error instanceof Error)) return error;
  const where = describePlace(place);
  const details = { ...place, cause: error };
  if (error instanceof FTPError) {
    const denied =
      error.code === 550 && /denied|permission|not permitted|not allowed|TLS required/i.test(error.message);
    const code = denied ? "permission" : (codes[error.code] ?? "failed");
    return new StorageError(code, `${where}: ${error.message}`, details);
  }
  // basic-ftp gives this error no code, so its text is tested.
  if (/Maximum bytes exceeded/.test(error.message)) return new TooLongError(mostTold).named(place);
  const { code = "" } = error as NodeJS.ErrnoException;
  const retryable = !/^(ENOTFOUND|CERT_|ERR_TLS|UNABLE_TO|DEPTH_ZERO|SELF_SIGNED|EPROTO)/.test(code);
  const why = describeCertificateError(code, place.bucket ?? "", "verify") ?? error.message;
  return new StorageError("network", `${where}: ${why}`, { ...details, retryable });
}
