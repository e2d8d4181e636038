/** Turns every error into an answer of the same shape. */
import { ApiError, type ErrorCode, errorCodes, invalid } from "@millrace/contract";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FastifySchemaValidationError } from "fastify/types/schema.js";
import { BlobsUnavailable } from "../../blobs/blobs.ts";
import { isDiskFull } from "../../machine/disk.ts";
import { isUnavailable, StoreLocked, type StoreUnavailable, WriteConflict } from "../../store/drivers/unavailable.ts";
import { tooLarge } from "./json-bodies.ts";
import { messagePack } from "./message-pack.ts";

export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  setRefusal(reply, error);
  if (error.code === "unauthorized") reply.header("www-authenticate", "Bearer");
  if (reply.request.routeOptions?.config?.errorsAs === "application/msgpack")
    return reply.type("application/msgpack").send(messagePack(error.toBody()));
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(error.toBody()));
}

/** Sets the status and the headers of an error answer, which are the same for JSON and for pages. */
export function setRefusal(reply: FastifyReply, { status, retryAfter }: ApiError): void {
  reply.code(status);
  if (retryAfter !== undefined) reply.header("retry-after", String(retryAfter));
  // The server reads and drops the rest of the body. The framework would close the connection, and the caller might not
  // get the answer.
  if (!reply.request.raw.complete) reply.removeHeader("connection");
}

export function installErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(reply, refusalOf(error, request)));
  app.setNotFoundHandler((request, reply) => sendError(reply, nothingThere(request)));
}

/**
 * Returns the error that the caller gets for any failure of the API or of a page. Logs failures that the operator
 * should know about.
 */
export function refusalOf(error: FastifyError, request: FastifyRequest): ApiError {
  if (isUnavailable(error)) return unavailable(fateOf(error, request), error);
  if (isDiskFull(error)) request.log.error({ reqId: request.id, err: error }, "the disk is full");
  if (error instanceof BlobsUnavailable) return filesUnavailable(error, request);
  if (error instanceof WriteConflict) return conflicting(error, request);
  const known = toApiError(error, request);
  if (known) return known;
  request.log.error({ reqId: request.id, err: error }, "request failed");
  return new ApiError(
    "internal",
    `The server failed and changed nothing. Its log has the details under the request id ${request.id}.`,
  );
}

/** Seconds after which the caller may try again; sent as the Retry-After header. */
const retryAfter = 2;

const nothingChanged = "Nothing was changed. Try again in a moment.";

/** Returns the error for a database that cannot be used. The server logs the reason once. */
export function unavailable(fate = nothingChanged, error?: StoreUnavailable): ApiError {
  const why =
    error instanceof StoreLocked
      ? "Another session keeps a lock in the database of the server"
      : "The database of the server is unreachable";
  return new ApiError("unavailable", `${why}; running jobs continue. ${fate}`, { retryAfter });
}

/**
 * Returns the error for a blob storage that is unreachable, full or misconfigured. The reason is only logged, because
 * it names buckets and hosts.
 */
function filesUnavailable(error: BlobsUnavailable, request: FastifyRequest): ApiError {
  request.log.error({ reqId: request.id, err: error }, "the blob storage (MILLRACE_BLOBS) is unavailable");
  return new ApiError(
    "unavailable",
    `The file storage of the server does not work at the moment; running jobs continue. ${nothingChanged}`,
    { retryAfter },
  );
}

/**
 * Returns the error for a write that was given up, because other requests kept changing the same data. Also logs a
 * warning for the operator, because this should not happen.
 */
function conflicting(error: WriteConflict, request: FastifyRequest): ApiError {
  request.log.warn({ reqId: request.id, err: error }, "a write kept conflicting with others");
  const why = "Other requests kept changing the same data at the same time.";
  return new ApiError("unavailable", `${why} ${nothingChanged}`, { retryAfter });
}

/**
 * Describes whether the request took effect, and what to do next. The text for a page does not mention the
 * Idempotency-Key, because pages cannot send one.
 */
function fateOf(error: Error, request: FastifyRequest): string {
  if (!mayHaveWritten(error, request)) return nothingChanged;
  const key = request.routeOptions.config.routeId ? ", or repeat it with the same Idempotency-Key" : "";
  return `It is unknown whether this request took effect. Check before you repeat it${key}.`;
}

/**
 * Tells whether the failed request may have changed something. For every method, the answer is yes if the store does
 * not know whether a write took effect. This includes GET, because a GET request can use up a sign-in link. For methods
 * other than GET and HEAD, the answer is also yes if the caller is authenticated or the route is public.
 */
const mayHaveWritten = (error: Error, { method, principal, routeOptions }: FastifyRequest) =>
  (isUnavailable(error) && error.changed === "unknown") ||
  (method !== "GET" && method !== "HEAD" && (principal !== null || routeOptions.config.access?.kind === "public"));

export const nothingThere = ({ method, url }: FastifyRequest) =>
  new ApiError("not_found", `There is no route ${method} ${url.split("?")[0]}. See /api/docs.`);

/**
 * Converts an error to an ApiError. Errors of the framework keep their status if it is below 500. Returns undefined for
 * unexpected failures.
 */
function toApiError(error: FastifyError, { routeOptions }: FastifyRequest): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE") return tooLarge(routeOptions.bodyLimit);
  if (isDiskFull(error))
    return new ApiError(
      "insufficient_storage",
      "The disk of the server is full, and nothing was changed. Try again later.",
    );
  const status = error.statusCode ?? 500;
  if (status >= 500) return undefined;
  const code =
    (Object.keys(errorCodes) as ErrorCode[]).find((candidate) => errorCodes[candidate].status === status) ??
    "bad_request";
  return new ApiError(code, error.message);
}

/** Converts a validation error to a message that names the field, the expected value and the received value. */
export function validationError(errors: FastifySchemaValidationError[]): ApiError {
  const [first] = errors;
  if (!first)
    return new ApiError("invalid", "The request does not have the form that this route expects. See /api/docs.");
  const path = first.instancePath.split("/").slice(1);
  if (first.keyword === "required") {
    return invalid([...path, String(first.params["missingProperty"])].join("."), "a value, got none");
  }
  const { data, parentSchema } = first as VerboseError;
  const length = sizeOf(first, data);
  if (length !== undefined) {
    const instead = parentSchema?.["x-instead"];
    const told = invalid(path.join("."), `${expectation(first)}, got ${length}`).message;
    return new ApiError("invalid", instead ? `${told}. ${instead}` : told);
  }
  // A write-only value, such as a password, is not repeated in the message.
  return invalid(path.join(".") || "body", expectation(first), parentSchema?.writeOnly ? undefined : data);
}

/** Ajv error in verbose mode, with the rejected value and its schema. */
interface VerboseError extends FastifySchemaValidationError {
  readonly data?: unknown;
  readonly parentSchema?: {
    readonly writeOnly?: boolean;
    readonly description?: string;
    readonly "x-instead"?: string;
  };
}

/** Returns the size of a value that is too long, to show instead of the value; undefined for other errors. */
function sizeOf({ keyword }: FastifySchemaValidationError, data: unknown): number | undefined {
  if (keyword === "maxLength" && typeof data === "string") return characters(data);
  return keyword === "maxItems" && Array.isArray(data) ? data.length : undefined;
}

/** Counts characters as the validation does: a surrogate pair is one. */
function characters(text: string): number {
  let count = 0;
  for (let index = 0; index < text.length; index++, count++) if ((text.codePointAt(index) ?? 0) > 0xffff) index++;
  return count;
}

function expectation(error: FastifySchemaValidationError): string {
  const { keyword, params, message } = error;
  if (keyword === "type")
    return [params["type"]]
      .flat()
      .filter((type) => type !== "null")
      .join(" or ");
  if (keyword === "enum")
    return `one of ${(params["allowedValues"] as unknown[]).filter((v) => v !== null).join(", ")}`;
  if (keyword === "pattern" || keyword === "format")
    return params["format"]
      ? `a ${String(params["format"])}`
      : ((error as VerboseError).parentSchema?.description ?? `text that matches ${String(params["pattern"])}`);
  if (keyword === "maxLength") return `at most ${String(params["limit"])} characters`;
  if (keyword === "maxItems") return `at most ${String(params["limit"])} items`;
  return (message ?? keyword).replace(/^must (be |have |NOT have )?/, (_, verb: string | undefined) =>
    verb === "NOT have " ? "not " : verb === "have " ? "" : "",
  );
}
