/** What an error answer of S3 means. */
import { type ErrorCode, type ErrorDetails, type ErrorPlace, StorageError } from "../../errors.ts";
import { type HttpAnswer, parseRetryAfter } from "../../http.ts";
import { elementText } from "../../xml.ts";

/** Codes that say more than the status does. */
const codes: Readonly<Record<string, ErrorCode>> = {
  NoSuchKey: "not_found",
  NoSuchBucket: "not_found",
  NoSuchVersion: "not_found",
  NoSuchUpload: "not_found",
  AccessDenied: "permission",
  InvalidAccessKeyId: "permission",
  SignatureDoesNotMatch: "permission",
  ExpiredToken: "permission",
  ExpiredTokenException: "permission",
  InvalidToken: "permission",
  TokenRefreshRequired: "permission",
  PreconditionFailed: "precondition",
  ConditionalRequestConflict: "precondition",
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

const statuses: Readonly<Record<number, ErrorCode>> = {
  401: "permission",
  403: "permission",
  404: "not_found",
  409: "failed",
  412: "precondition",
  429: "throttled",
  503: "throttled",
};

/** The error of an answer whose body has been read. Failures inside the store are worth another try. */
export function toStorageError(
  answer: HttpAnswer,
  body: string,
  place: ErrorPlace,
  known: Pick<ErrorDetails, "retryable"> = {},
): StorageError {
  const { status } = answer;
  const word = elementText(body, "Code") ?? "";
  const code = codes[word] ?? statuses[status] ?? "failed";
  const said = elementText(body, "Message") ?? "";
  const reason = [word || `HTTP ${status}`, said].filter(Boolean).join(": ");
  const where = `${place.scheme}://${place.bucket}${place.key ? `/${place.key}` : ""}`;
  return new StorageError(code, `${where}: ${reason}`, {
    ...place,
    status,
    requestId: answer.header("x-amz-request-id") ?? elementText(body, "RequestId"),
    retryAfter: parseRetryAfter(answer.header("retry-after")),
    ...(code === "failed" ? { retryable: status >= 500 || word === "InternalError" } : {}),
    ...known,
  });
}
