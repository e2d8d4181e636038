/** Converts error answers of Azure Blob Storage to storage errors. */
import type { ErrorCode, ErrorDetails, ErrorPlace, StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { errorOfAnswer, errorOfStatus, type Said } from "../../http/status-errors.ts";
import { elementText } from "../../http/xml.ts";

/** Storage error codes for those error codes of Azure that say more than the HTTP status. */
const words: Readonly<Record<string, ErrorCode>> = {
  BlobAlreadyExists: "precondition",
  ConditionNotMet: "precondition",
  TargetConditionNotMet: "precondition",
  SourceConditionNotMet: "precondition",
  BlobNotFound: "not_found",
  ContainerNotFound: "not_found",
  // Another client holds a lease on the blob. The HTTP status is 412, as for a failed condition, but the caller set no
  // condition.
  LeaseIdMissing: "failed",
  AuthenticationFailed: "permission",
  AuthorizationFailure: "permission",
  InsufficientAccountPermissions: "permission",
  NoAuthenticationInformation: "permission",
  PublicAccessNotPermitted: "permission",
  // Deleting a container takes a while, so creating it again is retried.
  ContainerBeingDeleted: "throttled",
  ServerBusy: "throttled",
  OperationTimedOut: "network",
};

/** Makes the error for an answer whose body has been read. */
export function toStorageError(
  answer: HttpAnswer,
  body: string,
  place: ErrorPlace,
  known: Pick<ErrorDetails, "retryable"> = {},
): StorageError {
  const word = answer.header("x-ms-error-code") ?? elementText(body, "Code") ?? "";
  return errorOfAnswer(answer, place, saidOf(word, body), { requestId: answer.header("x-ms-request-id"), ...known });
}

/** Makes the error for one answer in a batch. */
export const errorOf = (status: number, word: string, body: string, place: ErrorPlace): StorageError =>
  errorOfStatus(status, place, saidOf(word, body));

/**
 * Returns the code and the message of an error answer. Only the first line of the message is used; further lines repeat
 * the request id and the time.
 */
const saidOf = (word: string, body: string): Said => ({
  code: words[word],
  word,
  message: (elementText(body, "Message") ?? "").split("\n")[0] ?? "",
});
