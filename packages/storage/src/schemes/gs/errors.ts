/** What an error answer of Google Cloud Storage means. */
import { type ErrorCode, type ErrorDetails, type ErrorPlace, StorageError } from "../../errors.ts";
import { type HttpAnswer, parseRetryAfter } from "../../http.ts";

/** Reasons that say more than the status does. */
const reasons: Readonly<Record<string, ErrorCode>> = {
  rateLimitExceeded: "throttled",
  userRateLimitExceeded: "throttled",
  quotaExceeded: "throttled",
  backendError: "throttled",
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

interface Said {
  readonly message?: string;
  readonly errors?: readonly { readonly reason?: string }[];
}

/** The error of an answer whose body has been read. */
export function toStorageError(
  answer: HttpAnswer,
  body: string,
  place: ErrorPlace,
  known: Pick<ErrorDetails, "retryable"> = {},
): StorageError {
  return errorOf(answer.status, body, place, {
    requestId: answer.header("x-guploader-uploadid") ?? answer.header("x-goog-request-id"),
    retryAfter: parseRetryAfter(answer.header("retry-after")),
    ...known,
  });
}

export function errorOf(status: number, body: string, place: ErrorPlace, details: ErrorDetails = {}): StorageError {
  const said = parse(body);
  const reason = said.errors?.[0]?.reason ?? "";
  const code = reasons[reason] ?? statuses[status] ?? "failed";
  const words = [reason || `HTTP ${status}`, said.message ?? ""].filter(Boolean).join(": ");
  const where = `${place.scheme}://${place.bucket}${place.key ? `/${place.key}` : ""}`;
  return new StorageError(code, `${where}: ${words}`, {
    ...place,
    status,
    ...(code === "failed" ? { retryable: status >= 500 } : {}),
    ...details,
  });
}

/** Some errors are plain text, or XML. */
function parse(body: string): Said {
  try {
    return (JSON.parse(body) as { error?: Said }).error ?? {};
  } catch {
    return { message: body.slice(0, 200).trim() };
  }
}
