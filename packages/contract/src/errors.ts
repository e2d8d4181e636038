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
      "The server is starting or stopping, its database cannot be reached, or others changed the same rows again and again; Retry-After says when to try again.",
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type ErrorCode = keyof typeof errorCodes;

/** What to do about an error, as a word that each client turns into its own next step: a command, a link, a button. */
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
  remove_versions: "Remove versions of datasets that nobody needs.",
  set_credentials: "Store credentials under the name that the message has.",
  add_member: "Add the user to the team.",
  set_role: "Change the role of a member.",
  set_administrator: "Make another user an administrator of the server.",
  create_service_account: "Create the service account of the team.",
} as const satisfies Record<string, string>;

export type ErrorHint = keyof typeof errorHints;
export const isErrorHint = (word: unknown): word is ErrorHint => Object.hasOwn(errorHints, String(word));

/** `message` and `detail` say the same: clients read one or the other. */
export const ErrorBody = Type.Object(
  {
    message: Type.String({ description: "what happened, why, and what to do about it" }),
    detail: Type.String({ description: "the same text as `message`" }),
    code: Type.String({ description: "a word of the table in docs/errors.md" }),
    hint: Type.Optional(
      Type.String({
        description: "what to do next, as a word that a client turns into a command or a link; absent: nothing known",
      }),
    ),
  },
  { $id: "Error" },
);
export type ErrorBody = Static<typeof ErrorBody>;

/** A refusal with a code from the table. Thrown by the server's rules, and by the client when it reads one. */
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
