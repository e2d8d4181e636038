/** What an error answer of Azure Blob Storage means. */
import { type ErrorCode, type ErrorDetails, type ErrorPlace, StorageError } from "../../errors.ts";
import { type HttpAnswer, parseRetryAfter } from "../../http.ts";
import { elementText } from "../../xml.ts";

/** Words that say more than the status does. */
const words: Readonly<Record<string, ErrorCode>> = {
  BlobAlreadyExists: "precondition",
  ConditionNotMet: "precondition",
  TargetConditionNotMet: "precondition",
  SourceConditionNotMet: "precondition",
  BlobNotFound: "not_found",
  ContainerNotFound: "not_found",
  CannotVerifyCopySource: "not_found",
  AuthenticationFailed: "permission",
  AuthorizationFailure: "permission",
  InsufficientAccountPermissions: "permission",
  NoAuthenticationInformation: "permission",
  PublicAccessNotPermitted: "permission",
  ServerBusy: "throttled",
  OperationTimedOut: "network",
};

const statuses: Readonly<Record<number, ErrorCode>> = {
  304: "precondition",
  401: "permission",
  403: "permission",
  404: "not_found",
  408: "network",
  412: "precondition",
  429: "throttled",
  503: "throttled",
};

/** The error of an answer whose body has been read. */
export function toStorageError(
  answer: HttpAnswer,
  body: string,
  place: ErrorPlace,
  known: Pick<ErrorDetails, "retryable"> = {},
): StorageError {
  const word = answer.header("x-ms-error-code") ?? elementText(body, "Code") ?? "";
  // The message repeats the request id and the time on further lines.
  const said = (elementText(body, "Message") ?? "").split("\n")[0] ?? "";
  return errorOf(answer.status, word, said, place, {
    requestId: answer.header("x-ms-request-id"),
    retryAfter: parseRetryAfter(answer.header("retry-after")),
    ...known,
  });
}

export function errorOf(
  status: number,
  word: string,
  said: string,
  place: ErrorPlace,
  details: ErrorDetails = {},
): StorageError {
  // 404 and 403 of the source of a copy have the same word.
  const code = (word === "CannotVerifyCopySource" ? statuses[status] : undefined) ?? words[word] ?? statuses[status];
  const where = `${place.scheme}://${place.bucket}${place.key ? `/${place.key}` : ""}`;
  const reason = [word || `HTTP ${status}`, said].filter(Boolean).join(": ");
  return new StorageError(code ?? "failed", `${where}: ${reason}`, {
    ...place,
    status,
    ...(code === undefined ? { retryable: status >= 500 } : {}),
    ...details,
  });
}
