/** All errors of the API: the table of codes, and the shape of the body. */
import type { Static } from "typebox";
import { Type } from "./type.ts";

export const errorCodes = {
  bad_request: {
    status: 400,
    meaning: "The request is malformed: invalid JSON, an invalid upload, or an invalid path.",
  },
  authorization_pending: { status: 400, meaning: "The device login has not been confirmed yet; poll again." },
  authorization_expired: { status: 400, meaning: "The device login has expired, was already used, or never existed." },
  authorization_denied: { status: 400, meaning: "The device login was denied." },
  unauthorized: { status: 401, meaning: "The request has no token, or its token is unknown, expired or revoked." },
  forbidden: {
    status: 403,
    meaning: "The token lacks the required scope, or its user lacks the role or is not in the team.",
  },
  not_found: { status: 404, meaning: "The object does not exist, or is not in this team." },
  request_timeout: { status: 408, meaning: "The request did not arrive completely in time." },
  wrong_state: {
    status: 409,
    meaning: "The current state does not allow the action, or the team is over its disk quota; the message says why.",
  },
  gone: { status: 410, meaning: "The attempt of this runner is over, or it was withdrawn." },
  too_large: { status: 413, meaning: "The body or the file is larger than the limit." },
  unsupported_media_type: { status: 415, meaning: "The route does not accept this content type." },
  range_not_satisfiable: { status: 416, meaning: "The range starts after the end of the log." },
  misdirected: { status: 421, meaning: "The Host header has a name that the server does not accept." },
  invalid: {
    status: 422,
    meaning: "A field has a wrong type or value; the message names the field and what was expected.",
  },
  too_many_requests: {
    status: 429,
    meaning: "A rate limit was exceeded, or too many jobs are waiting; Retry-After says when to try again.",
  },
  internal: {
    status: 500,
    meaning:
      "The server failed, and nothing was committed. The log of the server has the details under the request id.",
  },
  insufficient_storage: {
    status: 507,
    meaning: "The disk of the server is full or nearly full. Nothing was committed.",
  },
  unavailable: {
    status: 503,
    meaning:
      "The server is starting or stopping, its database is unreachable or locked, or concurrent requests kept conflicting; Retry-After says when to try again.",
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type ErrorCode = keyof typeof errorCodes;

/** Suggested next steps. Each has a code, which a client can turn into its own command, link or button. */
export const errorHints = {
  sign_in: "Sign in again.",
  create_token: "Create a token with the scope that the message names.",
  create_sign_in_link: "Ask an administrator of the server for a sign-in link.",
  list_teams: "List your teams.",
  list_members: "List the members of the team.",
  list_jobs: "List the jobs of the team.",
  list_attempts: "List the attempts of the job.",
  list_tasks: "List the tasks of the team.",
  list_datasets: "List the datasets of the team.",
  list_pipelines: "List the pipelines of the team.",
  list_runs: "List the runs of the pipeline.",
  list_schedules: "List the schedules of the team.",
  list_backfills: "List the backfills of the team.",
  list_webhooks: "List the webhooks of the team.",
  list_deliveries: "List the deliveries of the webhook.",
  list_notifications: "List the e-mail notifications of the team.",
  list_tokens: "List your tokens.",
  list_service_tokens: "List the tokens of the service account.",
  remove_run: "Remove the run from the paused pipeline.",
  rerun_pipeline: "Run the failed and canceled part of the pipeline again.",
  remove_versions: "Remove dataset versions that are no longer needed.",
  set_credentials: "Store credentials under the name in the message.",
  add_member: "Add the user to the team.",
  invite: "Invite the user to the team.",
  set_role: "Change the role of a member.",
  set_administrator: "Make another user an administrator of the server.",
  create_service_account: "Create the service account of the team.",
} as const satisfies Record<string, string>;

export type ErrorHint = keyof typeof errorHints;
export const isErrorHint = (word: unknown): word is ErrorHint => Object.hasOwn(errorHints, String(word));

/**
 * The body of an error. `message` and `detail` have the same text, because some clients read `message` and others
 * `detail`.
 */
export const ErrorBody = Type.Object(
  {
    message: Type.String({ description: "what happened, why, and what to do about it" }),
    detail: Type.String({ description: "the same text as `message`" }),
    code: Type.String({ description: "an error code; docs/errors.md lists all of them" }),
    hint: Type.Optional(
      Type.String({
        description:
          "a code for the suggested next step, which a client turns into a command or a link; absent if there is none",
      }),
    ),
  },
  { $id: "Error" },
);
export type ErrorBody = Static<typeof ErrorBody>;

/**
 * An error with one of the codes in `errorCodes`. The server throws it to refuse a request; the client throws it when
 * the server answers with an error.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly retryAfter: number | undefined;
  readonly hint: ErrorHint | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { readonly retryAfter?: number; readonly hint?: ErrorHint | undefined } = {},
  ) {
    super(message);
    this.name = "ApiError";
    this.code = code;
    this.retryAfter = options.retryAfter;
    this.hint = options.hint;
  }

  get status(): number {
    return errorCodes[this.code].status;
  }

  toBody(): ErrorBody {
    const body = { message: this.message, detail: this.message, code: this.code };
    return this.hint ? { ...body, hint: this.hint } : body;
  }
}

/**
 * Returns the error for a field with a wrong value. The message names the field, the expected value and the received
 * value.
 */
export const invalid = (field: string, expected: string, got?: unknown) =>
  new ApiError("invalid", `${field}: expected ${expected}${got === undefined ? "" : `, got ${preview(got)}`}`);

const previewLength = 80;

/**
 * Formats a value as JSON for an error message. Only the beginning is formatted, so that a large value takes little
 * time.
 */
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
