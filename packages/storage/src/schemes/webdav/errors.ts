/** What an error answer of a WebDAV server means. */
import { type ErrorCode, type ErrorPlace, StorageError } from "../../errors.ts";
import { type HttpAnswer, parseRetryAfter } from "../../http.ts";

const codes: Readonly<Record<number, ErrorCode>> = {
  401: "permission",
  403: "permission",
  404: "not_found",
  408: "network",
  410: "not_found",
  412: "precondition",
  423: "permission",
  429: "throttled",
  503: "throttled",
};

/** The parent of what is to be written is missing. */
export const conflict = 409;

export function toStorageError(answer: HttpAnswer, place: ErrorPlace): StorageError {
  const { status } = answer;
  const code = codes[status] ?? "failed";
  const word = status === 423 ? "locked by somebody" : `HTTP ${status}`;
  return new StorageError(code, `${place.scheme}://${place.bucket}/${place.key}: ${word}`, {
    ...place,
    status,
    requestId: answer.header("x-request-id"),
    retryAfter: parseRetryAfter(answer.header("retry-after")),
    ...(code === "failed" ? { retryable: status >= 500 && status !== 507 } : {}),
  });
}
