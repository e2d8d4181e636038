/** Converts error answers of the hub to storage errors. */
import type { ErrorCode, ErrorPlace, StorageError } from "../../errors.ts";
import { parseRetryAfter } from "../../http/client.ts";
import type { HttpAnswer } from "../../http/messages.ts";
import { errorOfAnswer } from "../../http/status-errors.ts";

/**
 * Error codes in the hub's header. They say more than the status: for a repository that the user may not see, for
 * example, the status is 401.
 */
const codes: Readonly<Record<string, ErrorCode>> = {
  RepoNotFound: "not_found",
  RevisionNotFound: "not_found",
  EntryNotFound: "not_found",
  GatedRepo: "permission",
  DisabledRepo: "permission",
};

export const isEntryMissing = (answer: HttpAnswer) => answer.header("x-error-code") === "EntryNotFound";

/** Reads the body and puts its text into the message. */
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
 * Parses a rate-limit header such as `"api";r=0;t=55`, which means that no requests are left for 55 seconds. Returns
 * milliseconds.
 */
function untilNextWindow(header: string | undefined): number | undefined {
  const [, left, seconds] = /r=(\d+).*t=(\d+)/.exec(header ?? "") ?? [];
  return left === "0" ? Number(seconds) * 1000 : undefined;
}
