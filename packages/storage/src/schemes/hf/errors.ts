/** What an error answer of the hub means. */
import { type ErrorCode, type ErrorPlace, StorageError } from "../../errors.ts";
import { type HttpAnswer, parseRetryAfter } from "../../http.ts";

/** Codes of its header, which say more than the status: a repository that one may not see is answered with 401. */
const codes: Readonly<Record<string, ErrorCode>> = {
  RepoNotFound: "not_found",
  RevisionNotFound: "not_found",
  EntryNotFound: "not_found",
  GatedRepo: "permission",
  DisabledRepo: "permission",
};

const statuses: Readonly<Record<number, ErrorCode>> = {
  401: "permission",
  403: "permission",
  404: "not_found",
  408: "network",
  410: "not_found",
  412: "precondition",
  429: "throttled",
  503: "throttled",
};

export const isEntryMissing = (answer: HttpAnswer) => answer.header("x-error-code") === "EntryNotFound";

/** Reads the body away: what it says is kept in the message. */
export async function toStorageError(answer: HttpAnswer, place: ErrorPlace): Promise<StorageError> {
  const { status } = answer;
  const body = await answer.text();
  const word = answer.header("x-error-code") || `HTTP ${status}`;
  const code = codes[word] ?? statuses[status] ?? "failed";
  const said = answer.header("x-error-message") ?? messageIn(body);
  const where = `${place.scheme}://${place.bucket}${place.key ? `/${place.key}` : ""}`;
  return new StorageError(code, `${where}: ${[word, said].filter(Boolean).join(": ")}`, {
    ...place,
    status,
    requestId: answer.header("x-request-id") ?? answer.header("x-amz-cf-id"),
    retryAfter: parseRetryAfter(answer.header("retry-after")) ?? untilNextWindow(answer.header("ratelimit")),
    ...(code === "failed" ? { retryable: status >= 500 } : {}),
  });
}

function messageIn(body: string): string {
  try {
    const { error } = JSON.parse(body) as { error?: string };
    return error ?? "";
  } catch {
    return body.slice(0, 200);
  }
}

/** `"api";r=0;t=55`: nothing is left, for 55 seconds. */
function untilNextWindow(header: string | undefined): number | undefined {
  const [, left, seconds] = /r=(\d+).*t=(\d+)/.exec(header ?? "") ?? [];
  return left === "0" ? Number(seconds) * 1000 : undefined;
}
