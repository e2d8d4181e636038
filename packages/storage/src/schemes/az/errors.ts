/** What an error answer of Azure Blob Storage means. */
import type { ErrorCode, ErrorDetails, ErrorPlace, StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { errorOfAnswer, errorOfStatus, type Said } from "../../http/status-errors.ts";
import { elementText } from "../../http/xml.ts";

/** Words that say more than the status does. */
const words: Readonly<Record<string, ErrorCode>> = {
  BlobAlreadyExists: "precondition",
  ConditionNotMet: "precondition",
  TargetConditionNotMet: "precondition",
  SourceConditionNotMet: "precondition",
  BlobNotFound: "not_found",
  ContainerNotFound: "not_found",
  // Somebody has reserved it: no condition of ours, although the status is that of one.
  LeaseIdMissing: "failed",
  AuthenticationFailed: "permission",
  AuthorizationFailure: "permission",
  InsufficientAccountPermissions: "permission",
  NoAuthenticationInformation: "permission",
  PublicAccessNotPermitted: "permission",
  // It takes a while.
  ContainerBeingDeleted: "throttled",
  ServerBusy: "throttled",
  OperationTimedOut: "network",
};

/** The error of an answer whose body has been read. */
export function toStorageError(
  answer: HttpAnswer,
  body: string,
  place: ErrorPlace,
  known: Pick<ErrorDetails, "retryable"> = {},
): StorageError {
  const word = answer.header("x-ms-error-code") ?? elementText(body, "Code") ?? "";
  return errorOfAnswer(answer, place, saidOf(word, body), { requestId: answer.header("x-ms-request-id"), ...known });
}

/** The error of one answer in a batch. */
export const errorOf = (status: number, word: string, body: string, place: ErrorPlace): StorageError =>
  errorOfStatus(status, place, saidOf(word, body));

/** The message repeats the request id and the time on further lines. */
const saidOf = (word: string, body: string): Said => ({
  code: words[word],
  word,
  message: (elementText(body, "Message") ?? "").split("\n")[0] ?? "",
});
