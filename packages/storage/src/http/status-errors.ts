/**
 * Makes a storage error from a failed HTTP answer: by the store's own error code if it sent one, otherwise by the
 * status.
 */
import { describePlace, type ErrorCode, type ErrorDetails, type ErrorPlace, StorageError } from "../errors.ts";
import { parseRetryAfter } from "./client.ts";
import type { HttpAnswer } from "./messages.ts";

const statuses: Readonly<Record<number, ErrorCode>> = {
  304: "precondition",
  401: "permission",
  403: "permission",
  404: "not_found",
  408: "network",
  410: "not_found",
  412: "precondition",
  429: "throttled",
  503: "throttled",
};

/** What the store said in addition to the status. */
export interface Said {
  /** The storage error code for the store's own error code, if that code says more than the status. */
  readonly code?: ErrorCode | undefined;
  readonly word?: string;
  readonly message?: string;
}

/**
 * Returns the error for a status. A status of 500 or more that is not in the table means an internal failure of the
 * store, so the error is retryable.
 */
export function errorOfStatus(status: number, place: ErrorPlace, said: Said, details: ErrorDetails = {}): StorageError {
  const code = said.code ?? statuses[status];
  const reason = [said.word || `HTTP ${status}`, said.message].filter(Boolean).join(": ");
  return new StorageError(code ?? "failed", `${describePlace(place)}: ${reason}`, {
    ...place,
    status,
    ...(code === undefined ? { retryable: status >= 500 } : {}),
    ...details,
  });
}

export function errorOfAnswer(answer: HttpAnswer, place: ErrorPlace, said: Said, details: ErrorDetails): StorageError {
  const retryAfter = parseRetryAfter(answer.header("retry-after"));
  return errorOfStatus(answer.status, place, said, { retryAfter, ...details });
}
