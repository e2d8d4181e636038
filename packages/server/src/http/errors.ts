/** Every refusal in one shape. */
import { ApiError, type ErrorCode, errorCodes, invalid } from "@millrace/contract";
import type { FastifyError, FastifyInstance, FastifyReply } from "fastify";
import type { FastifySchemaValidationError } from "fastify/types/schema.js";

export function sendError(reply: FastifyReply, error: ApiError): FastifyReply {
  if (error.retryAfter !== undefined) reply.header("retry-after", String(error.retryAfter));
  if (error.code === "unauthorized") reply.header("www-authenticate", "Bearer");
  return reply.code(error.status).type("application/json; charset=utf-8").send(JSON.stringify(error.toBody()));
}

export function installErrors(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    const known = toApiError(error);
    if (known) return sendError(reply, known);
    request.log.error({ err: error }, "request failed");
    return sendError(
      reply,
      new ApiError("internal", `The server failed; nothing was changed. Its log has the request id ${request.id}.`),
    );
  });
  app.setNotFoundHandler((request, reply) =>
    sendError(
      reply,
      new ApiError("not_found", `There is nothing at ${request.method} ${request.url.split("?")[0]}. See /api/docs.`),
    ),
  );
}

/** Errors of the framework, by their status. */
export function toApiError(error: FastifyError): ApiError | undefined {
  if (error instanceof ApiError) return error;
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
  const { data, parentSchema } = first as { data?: unknown; parentSchema?: Described };
  const expected = first.keyword === "pattern" ? parentSchema?.description : undefined;
  return invalid(path.join(".") || "body", expected ?? expectation(first), parentSchema?.writeOnly ? undefined : data);
}

/** The part of the schema that was not met. A value that is only ever written is not repeated in a refusal. */
interface Described {
  readonly description?: string;
  readonly writeOnly?: boolean;
}

function expectation({ keyword, params, message }: FastifySchemaValidationError): string {
  if (keyword === "type")
    return [params["type"]]
      .flat()
      .filter((type) => type !== "null")
      .join(" or ");
  if (keyword === "enum")
    return `one of ${(params["allowedValues"] as unknown[]).filter((v) => v !== null).join(", ")}`;
  if (keyword === "format") return `a ${String(params["format"])}`;
  return (message ?? keyword).replace(/^must (be |have |NOT have )?/, (_, verb: string | undefined) =>
    verb === "NOT have " ? "not " : verb === "have " ? "" : "",
  );
}
