/** Every refusal in one shape. */
import { ApiError, type ErrorCode, errorCodes, invalid } from "@millrace/contract";
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { FastifySchemaValidationError } from "fastify/types/schema.js";
import { BlobsUnavailable } from "../../blobs/blobs.ts";
import { isDiskFull } from "../../machine/disk.ts";
import { isUnavailable, WriteConflict } from "../../store/drivers/unavailable.ts";
import { tooLarge } from "./json-bodies.ts";
import { messagePack } from "./message-pack.ts";

export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  setRefusal(reply, error);
  if (error.code === "unauthorized") reply.header("www-authenticate", "Bearer");
  if (reply.request.routeOptions?.config?.errorsAs === "application/msgpack")
    return reply.type("application/msgpack").send(messagePack(error.toBody()));
  return reply.type("application/json; charset=utf-8").send(JSON.stringify(error.toBody()));
}

/** What every refusal has, whatever its form. */
export function setRefusal(reply: FastifyReply, { status, retryAfter }: ApiError): void {
  reply.code(status);
  if (retryAfter !== undefined) reply.header("retry-after", String(retryAfter));
  // What is left of the body is dropped; the framework would cut it off, and with it the answer.
  if (!reply.request.raw.complete) reply.removeHeader("connection");
}

export function installErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(reply, refusalOf(error, request)));
  app.setNotFoundHandler((request, reply) => sendError(reply, nothingThere(request)));
}

/** What the caller is told of any failure, over the API and on pages. What the operator must know of is logged. */
export function refusalOf(error: FastifyError, request: FastifyRequest): ApiError {
  if (isUnavailable(error)) return unavailable(fateOf(error, request));
  if (isDiskFull(error)) request.log.error({ err: error }, "a disk is full");
  if (error instanceof BlobsUnavailable) return filesUnavailable(error, request);
  if (error instanceof WriteConflict) return inTheWay(error, request);
  const known = toApiError(error, request);
  if (known) return known;
  request.log.error({ err: error }, "request failed");
  return new ApiError("internal", `The server failed; nothing was changed. Its log has the request id ${request.id}.`);
}

/** In seconds: how soon it makes sense to ask again. */
const retryAfter = 2;

const nothingChanged = "Nothing was changed: try again in a moment.";

/** What is said while the store cannot be reached; the reason is in the server's log, once. */
export const unavailable = (fate = nothingChanged) =>
  new ApiError("unavailable", `The server's database cannot be reached; running jobs go on. ${fate}`, { retryAfter });

/** The reason names buckets and hosts: it is for the operator. */
function filesUnavailable(error: BlobsUnavailable, request: FastifyRequest): ApiError {
  request.log.error({ err: error }, "the storage of files cannot be used");
  return new ApiError(
    "unavailable",
    `The storage of the server's files cannot be reached; running jobs go on. ${nothingChanged}`,
    { retryAfter },
  );
}

/** Writes of others cannot be told apart from a fault of ours by the caller: the operator is told, too. */
function inTheWay(error: WriteConflict, request: FastifyRequest): ApiError {
  request.log.warn({ err: error }, "a write was rolled back again and again");
  const why = "Others changed the same rows at the same time, again and again.";
  return new ApiError("unavailable", `${why} ${nothingChanged}`, { retryAfter });
}

/** What became of a request, and what to do now. A page has no key to repeat it with. */
function fateOf(error: Error, request: FastifyRequest): string {
  if (!mayHaveWritten(error, request)) return nothingChanged;
  const key = request.routeOptions.config.routeId ? ", or repeat it with the same Idempotency-Key" : "";
  return `It is not known whether this request took effect: look before you repeat it${key}.`;
}

/** Whoever is not known yet has changed nothing. A page that uses up a link is a GET. */
const mayHaveWritten = (error: Error, { method, principal, routeOptions }: FastifyRequest) =>
  (isUnavailable(error) && error.changed === "unknown") ||
  (method !== "GET" && method !== "HEAD" && (principal !== null || routeOptions.config.access?.kind === "public"));

export const nothingThere = ({ method, url }: FastifyRequest) =>
  new ApiError("not_found", `There is nothing at ${method} ${url.split("?")[0]}. See /api/docs.`);

/** Errors of the framework, by their status. */
function toApiError(error: FastifyError, { routeOptions }: FastifyRequest): ApiError | undefined {
  if (error instanceof ApiError) return error;
  if (error.code === "FST_ERR_CTP_BODY_TOO_LARGE") return tooLarge(routeOptions.bodyLimit);
  if (isDiskFull(error))
    return new ApiError("insufficient_storage", "The server's disk is full; nothing was changed. Try again later.");
  const status = error.statusCode ?? 500;
  if (status >= 500) return undefined;
  const code =
    (Object.keys(errorCodes) as ErrorCode[]).find((candidate) => errorCodes[candidate].status === status) ??
    "bad_request";
  return new ApiError(code, error.message);
}

/** Names the field, what was expected and what came. */
export function validationError(errors: FastifySchemaValidationError[]): ApiError {
  const [first] = errors;
  if (!first) return new ApiError("invalid", "the request does not fit its schema");
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
  // What goes in and never comes out is not repeated either.
  return invalid(path.join(".") || "body", expectation(first), parentSchema?.writeOnly ? undefined : data);
}

/** With what was wrong, and by which schema: Ajv is asked to be verbose. */
interface VerboseError extends FastifySchemaValidationError {
  readonly data?: unknown;
  readonly parentSchema?: {
    readonly writeOnly?: boolean;
    readonly description?: string;
    readonly "x-instead"?: string;
  };
}

/** What was too long is not repeated: how long it is helps more. Undefined: something else is wrong. */
function sizeOf({ keyword }: FastifySchemaValidationError, data: unknown): number | undefined {
  if (keyword === "maxLength" && typeof data === "string") return characters(data);
  return keyword === "maxItems" && Array.isArray(data) ? data.length : undefined;
}

/** As the validation counts them: two units of a pair are one. */
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
      : ((error as VerboseError).parentSchema?.description ?? "another form");
  if (keyword === "maxLength") return `at most ${String(params["limit"])} characters`;
  if (keyword === "maxItems") return `at most ${String(params["limit"])} items`;
  return (message ?? keyword).replace(/^must (be |have |NOT have )?/, (_, verb: string | undefined) =>
    verb === "NOT have " ? "not " : verb === "have " ? "" : "",
  );
}
