/** What an error answer of a web server means. */
import { type ErrorCode, type ErrorPlace, StorageError } from "../../errors.ts";
import { type HttpAnswer, parseRetryAfter } from "../../http.ts";

const codes: Readonly<Record<number, ErrorCode>> = {
  401: "permission",
  403: "permission",
  404: "not_found",
  408: "network",
  410: "not_found",
  412: "precondition",
  429: "throttled",
  503: "throttled",
};

export function toStorageError(answer: HttpAnswer, place: ErrorPlace): StorageError {
  const { status } = answer;
  const code = codes[status] ?? "failed";
  return new StorageError(code, `${place.bucket}/${place.key}: HTTP ${status}`, {
    ...place,
    status,
    requestId: answer.header("x-request-id"),
    retryAfter: parseRetryAfter(answer.header("retry-after")),
    ...(code === "failed" ? { retryable: status >= 500 } : {}),
  });
}
