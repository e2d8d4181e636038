/** Every error that the service answers with: one table, one shape. */
import type { Static } from "typebox";
import { Type } from "./type.ts";

export const errorCodes = {
  bad_request: { status: 400, meaning: "The request cannot be read: broken JSON, a broken upload, a bad range." },
  authorization_pending: { status: 400, meaning: "The device login has not been answered yet; ask again." },
  authorization_expired: { status: 400, meaning: "The device login ran out, was used, or never existed." },
  authorization_denied: { status: 400, meaning: "The device login was denied." },
  unauthorized: { status: 401, meaning: "No token, or one that is unknown, expired or revoked." },
  forbidden: { status: 403, meaning: "The token lacks the scope, or its user lacks the role or the team." },
  not_found: { status: 404, meaning: "There is no such thing in this team." },
  request_timeout: { status: 408, meaning: "The request did not arrive whole in time." },
  wrong_state: {
    status: 409,
    meaning:
      "The action is not allowed in the present state, or the team is over a quota of disk; the message says why.",
  },
  too_large: { status: 413, meaning: "The body or the file is over the configured limit." },
  unsupported_media_type: { status: 415, meaning: "The content type is not one this path reads." },
  range_not_satisfiable: { status: 416, meaning: "The range lies beyond the end of the log." },
  misdirected: { status: 421, meaning: "The Host header names a host that the server does not serve." },
  invalid: { status: 422, meaning: "A field has a wrong type or value; the message names it and what was expected." },
  too_many_requests: {
    status: 429,
    meaning: "A rate limit, or too many jobs waiting; Retry-After says when to try again.",
  },
  internal: { status: 500, meaning: "A fault of the server. Nothing was committed; the log has the request id." },
  insufficient_storage: { status: 507, meaning: "The server's disk is full, or nearly so. Nothing was committed." },
  unavailable: {
    status: 503,
    meaning:
      "The server is starting or stopping, or its database cannot be reached; Retry-After says when to try again.",
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type ErrorCode = keyof typeof errorCodes;

/** `message` and `detail` say the same: clients read one or the other. */
export const ErrorBody = Type.Object(
  { message: Type.String(), detail: Type.String(), code: Type.String() },
  { $id: "Error" },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** A refusal with a code from the table. Thrown by the server's rules, and by the client when it reads one. */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, options: { retryAfter?: number } = {}) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.retryAfter = options.retryAfter;
  }

  get status(): number {
    return errorCodes[this.code].status;
  }

  toBody(): ErrorBody {
    return { message: this.message, detail: this.message, code: this.code };
  }
}

/** A field with a wrong value: names it, what was expected, and what came. */
export const invalid = (field: string, expected: string, got?: unknown) =>
  new ApiError("invalid", `${field}: expected ${expected}${got === undefined ? "" : `, got ${preview(got)}`}`);

const previewLength = 80;

/** The beginning of a value. Only that much of it is written, whatever its size. */
function preview(value: unknown): string {
  let left = previewLength;
  const text = JSON.stringify(value, (_key, item: unknown) => (left-- > 0 ? beginning(item) : null)) ?? String(value);
  return text.length > previewLength ? `${text.slice(0, previewLength - 3)}...` : text;
}

function beginning(item: unknown): unknown {
  if (typeof item === "string" || Array.isArray(item)) return item.slice(0, previewLength);
  if (typeof item !== "object" || item === null) return item;
  return Object.fromEntries(Object.entries(item).slice(0, previewLength));
}
