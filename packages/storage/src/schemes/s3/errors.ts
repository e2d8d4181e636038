/** Converts error answers of S3 to storage errors. */
import type { ErrorCode, ErrorDetails, ErrorPlace, StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { errorOfAnswer } from "../../http/status-errors.ts";
import { elementText } from "../../http/xml.ts";

/** Storage error codes for those error codes of S3 that say more than the HTTP status. */
const codes: Readonly<Record<string, ErrorCode>> = {
  NoSuchKey: "not_found",
  NoSuchBucket: "not_found",
  NoSuchVersion: "not_found",
  NoSuchUpload: "not_found",
  AccessDenied: "permission",
  InvalidAccessKeyId: "permission",
  // The word of versitygw for an unknown key. Its status says that something was not found.
  XAdminUserNotFound: "permission",
  SignatureDoesNotMatch: "permission",
  ExpiredToken: "permission",
  ExpiredTokenException: "permission",
  InvalidToken: "permission",
  TokenRefreshRequired: "permission",
  PreconditionFailed: "precondition",
  ConditionalRequestConflict: "precondition",
  // Another request is changing the same object or bucket.
  OperationAborted: "throttled",
  SlowDown: "throttled",
  SlowDownRead: "throttled",
  SlowDownWrite: "throttled",
  ServiceUnavailable: "throttled",
  RequestLimitExceeded: "throttled",
  TooManyRequests: "throttled",
  BandwidthLimitExceeded: "throttled",
  Throttling: "throttled",
  RequestTimeout: "network",
  RequestTimeTooSkewed: "permission",
};

/** Makes the error for an answer whose body has been read. */
export function toStorageError(
  answer: HttpAnswer,
  body: string,
  place: ErrorPlace,
  known: Pick<ErrorDetails, "retryable"> = {},
): StorageError {
  const word = elementText(body, "Code") ?? "";
  const said = { code: codes[word], word, message: elementText(body, "Message") ?? "" };
  return errorOfAnswer(answer, place, said, {
    requestId: answer.header("x-amz-request-id") ?? elementText(body, "RequestId"),
    // InternalError may come with status 200, which would otherwise not be retried.
    ...(word === "InternalError" ? { retryable: true } : {}),
    ...known,
  });
}
