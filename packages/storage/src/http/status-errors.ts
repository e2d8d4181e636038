/** What an answer over HTTP means that is no success: by the store's own word where it has one, else by its status. */
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

/** What the store says beside the status, as far as it does. */
export interface Said {
  /** What its word means, where that says more than the status. */
  readonly code?: ErrorCode | undefined;
  readonly word?: string;
  readonly message?: string;
}

/** Failures inside a store are worth another try, whatever they are. */
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
