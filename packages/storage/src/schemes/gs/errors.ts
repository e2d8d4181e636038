/** Converts error answers of Google Cloud Storage to storage errors. */
import type { ErrorCode, ErrorDetails, ErrorPlace, StorageError } from "../../errors.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { errorOfAnswer, errorOfStatus, type Said } from "../../http/status-errors.ts";

/** Storage error codes for those error reasons of the store that say more than the HTTP status. */
const reasons: Readonly<Record<string, ErrorCode>> = {
  rateLimitExceeded: "throttled",
  userRateLimitExceeded: "throttled",
  quotaExceeded: "throttled",
  backendError: "throttled",
};

interface Described {
  readonly message?: string;
  readonly errors?: readonly { readonly reason?: string }[];
}

/** Makes the error for an answer whose body has been read. */
export function toStorageError(
  answer: HttpAnswer,
  body: string,
  place: ErrorPlace,
  known: Pick<ErrorDetails, "retryable"> = {},
): StorageError {
  const requestId = answer.header("x-guploader-uploadid") ?? answer.header("x-goog-request-id");
  return errorOfAnswer(answer, place, saidOf(body), { requestId, ...known });
}

/** Makes the error for one answer in a batch. */
export const errorOf = (status: number, body: string, place: ErrorPlace): StorageError =>
  errorOfStatus(status, place, saidOf(body));

function saidOf(body: string): Said {
  const { message = "", errors } = parse(body);
  const word = errors?.[0]?.reason ?? "";
  return { code: reasons[word], word, message };
}

/**
 * Parses the body of an error answer. If the body is not JSON, but plain text or XML, its first characters become the
 * message.
 */
function parse(body: string): Described {
  try {
    return (JSON.parse(body) as { error?: Described }).error ?? {};
  } catch {
    return { message: body.slice(0, 200).trim() };
  }
}
