/** Converts error answers of the hub to storage errors. */
import type { ErrorCode, ErrorPlace, StorageError } from "../../errors.ts";
import { parseRetryAfter } from "../../http/client.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { errorOfAnswer } from "../../http/status-errors.ts";

/**
 * Storage error codes by the hub's own error code, which is in the header `x-error-code` and says more than the HTTP
 * status. For a repository that does not exist, for example, the status may be 401.
 */
const codes: Readonly<Record<string, ErrorCode>> = {
  RepoNotFound: "not_found",
  RevisionNotFound: "not_found",
  EntryNotFound: "not_found",
  GatedRepo: "permission",
  DisabledRepo: "permission",
};

export const isEntryMissing = (answer: HttpAnswer) => answer.header("x-error-code") === "EntryNotFound";

/** Makes the error for an answer. The message comes from a header of the answer or from its body. */
export async function toStorageError(answer: HttpAnswer, place: ErrorPlace): Promise<StorageError> {
  const body = await answer.text();
  const word = answer.header("x-error-code") ?? "";
  const said = { code: codes[word], word, message: answer.header("x-error-message") ?? messageIn(body) };
  const retryAfter = parseRetryAfter(answer.header("retry-after")) ?? untilNextWindow(answer.header("ratelimit"));
  const requestId = answer.header("x-request-id") ?? answer.header("x-amz-cf-id");
  return errorOfAnswer(answer, place, said, { requestId, retryAfter });
}

function messageIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: string };
    return error ?? "";
  } catch {
    return body.slice(0, 200);
  }
}

/**
 * Returns the time in milliseconds until the hub accepts requests again, or undefined if the hub accepts requests now.
 * The header `"api";r=0;t=55` means that no requests are left for 55 seconds.
 */
function untilNextWindow(header: string | undefined): number | undefined {
  const [, left, seconds] = /r=(\d+).*t=(\d+)/.exec(header ?? "") ?? [];
  return left === "0" ? Number(seconds) * 1000 : undefined;
}
