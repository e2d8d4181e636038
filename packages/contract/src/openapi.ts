/** Builds the OpenAPI 3.1 document from the routes. */
import type { TSchema } from "typebox";
import { ErrorBody, type ErrorCode, errorCodes } from "./errors.ts";
import { bodyLimitOf, type Route } from "./routes.ts";

type Json = Record<string, unknown>;

export function openapiDocument(routes: readonly Route[]): Json {
  const components: Json = { Error: plain(ErrorBody) };
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    (paths[route.path] as Json)[route.method.toLowerCase()] = operation(route, components);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Millrace",
      version: "1.0.0",
      description: "Runs a team's data-processing jobs and keeps its datasets fresh.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: "/" }],
    security: [{ token: [] }],
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        token: {
          type: "http",
          scheme: "bearer",
          description: "`Authorization: Bearer isat_…`; `token isat_…` works too.",
        },
        runner: { type: "http", scheme: "bearer", description: "The code or the token of an attempt." },
      },
    },
  };
}

function operation(route: Route, components: Json): Json {
  const type = route.answersAs ?? "application/json";
  const content: Json = { [type]: { schema: reference(route.response, components) } };
  for (const [type, description] of Object.entries(route.alsoAnswers ?? {})) {
    content[type] = { schema: { type: "string", description } };
  }
  const success = route.socket
    ? { 101: { description: "Switching to a WebSocket of JSON text frames" } }
    : { 200: { description: "OK", ...responseHeaders(route), content } };
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: describeAccess(route),
    ...securityOf(route),
    parameters: parameters(route),
    ...requestBody(route, components),
    responses: { ...success, ...refusals(route) },
  };
}

function securityOf({ access }: Route): Json {
  if (access.kind === "public") return { security: [] };
  return access.kind === "runner" ? { security: [{ runner: [] }] } : {};
}

function responseHeaders({ responseHeaders }: Route): Json {
  if (!responseHeaders) return {};
  const headers = Object.entries(responseHeaders).map(([name, description]) => [
    name,
    { description, schema: { type: "string" } },
  ]);
  return { headers: Object.fromEntries(headers) };
}

function describeAccess({ access }: Route): string {
  if (access.kind === "public") return `No token needed: ${access.why}.`;
  if (access.kind === "runner") return `Only for the runner of an attempt: ${access.why}.`;
  const people = access.kind === "admin" || access.people ? " The token of a job is refused." : "";
  const [scope, level] = access.scope?.split(":") ?? [];
  const needs = `${level} access to the ${scope} scope`;
  if (access.kind === "signed-in") return `Any valid token${scope ? ` with ${needs}` : ""}: ${access.why}.${people}`;
  if (access.kind === "admin") return `Needs an administrator of the server, with ${needs}: ${access.why}.${people}`;
  const administrators = access.administrators ? ", or an administrator of the server" : "";
  return `Needs a token with ${needs}, and the role ${access.role} in the team${administrators}.${people}`;
}

function parameters(route: Route): Json[] {
  const places = { path: route.params, query: route.query, header: route.headers };
  return Object.entries(places).flatMap(([place, schema]) =>
    Object.entries(schema?.properties ?? {}).map(([name, property]) => ({
      name,
      in: place,
      required: place === "path" || ((schema?.required ?? []) as readonly string[]).includes(name),
      schema: plain(property as TSchema),
    })),
  );
}

function requestBody(route: Route, components: Json): Json {
  if (route.upload) {
    // A file is binary, so its schema has no `type`.
    const schema = {
      type: "object",
      required: ["file"],
      properties: { file: { contentMediaType: "application/octet-stream" } },
    };
    return { requestBody: { required: true, content: { "multipart/form-data": { schema } } } };
  }
  if (route.bytes) {
    const description = `At most ${bodyLimitOf(route, Number.POSITIVE_INFINITY)} bytes.`;
    return { requestBody: { description, required: true, content: { "application/octet-stream": { schema: {} } } } };
  }
  if (route.bodyInQuery) {
    const schema = {
      type: "array",
      items: { type: "string" },
      description: `values added to the query parameter \`${route.bodyInQuery}\``,
    };
    return { requestBody: { required: false, content: { "application/json": { schema } } } };
  }
  if (!route.body) return {};
  const description = `At most ${route.bodyLimit === "large" ? "MILLRACE_BODY_LIMIT, by default 16 MiB" : `${bodyLimitOf(route, Number.POSITIVE_INFINITY)} bytes`}.`;
  // A body without required fields may be left out.
  const required = ((route.body as { required?: readonly string[] }).required ?? []).length > 0;
  return {
    requestBody: {
      description,
      required,
      content: { "application/json": { schema: reference(route.body, components) } },
    },
  };
}

/**
 * Returns the error codes that a route can answer with: those that follow from its method, access and input, and those
 * that the route itself declares.
 */
function routeErrors(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = ["misdirected", ...(route.errors ?? [])];
  if (route.access.kind !== "public" || route.method !== "GET") codes.push("unavailable");
  if (route.access.kind !== "public") codes.push("unauthorized", "too_many_requests");
  if (route.access.kind === "admin" || ("scope" in route.access && route.access.scope)) codes.push("forbidden");
  if (route.access.kind === "public" && route.method === "POST") codes.push("too_many_requests");
  if (route.method !== "GET") codes.push("bad_request", "request_timeout", "too_large", "unsupported_media_type");
  if (route.bodyInQuery) codes.push("bad_request", "request_timeout", "too_large");
  // The server refuses a path or query that is too long.
  if (route.params || route.query) codes.push("bad_request");
  if (route.query || route.body || route.params) codes.push("invalid");
  return [...new Set(codes)];
}

/**
 * Returns the content type of a route's errors. If a route answers with MessagePack, its errors are MessagePack, too,
 * because its clients expect this.
 */
export const errorsAs = ({ answersAs }: Pick<Route, "answersAs">) =>
  answersAs === "application/msgpack" ? answersAs : "application/json";

function refusals(route: Route): Json {
  const byStatus: Record<string, string[]> = {};
  for (const code of routeErrors(route)) {
    const { status, meaning } = errorCodes[code];
    byStatus[status] ??= [];
    byStatus[status]?.push(`\`${code}\`: ${meaning}`);
  }
  const schema = { $ref: "#/components/schemas/Error" };
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, meanings]) => [
      status,
      { description: meanings.join(" "), content: { [errorsAs(route)]: { schema } } },
    ]),
  );
}

/**
 * Returns a reference to a named schema, and adds the schema to the components of the document if it is not there yet.
 * A schema without a name is returned itself.
 */
function reference(schema: TSchema, components: Json): unknown {
  const json = plain(schema);
  if ([json["type"]].flat().includes("array"))
    return { ...json, items: reference(json["items"] as TSchema, components) };
  const fields = Object.entries((json["properties"] ?? {}) as Record<string, TSchema>);
  const properties = Object.fromEntries(fields.map(([name, field]) => [name, reference(field, components)]));
  const { $id: id, ...named } = fields.length === 0 ? json : { ...json, properties };
  if (typeof id !== "string") return named;
  components[id] ??= named;
  return { $ref: `#/components/schemas/${id}` };
}

/** Returns the schema as plain JSON, without the hidden keys of the schema builders. */
const plain = (schema: TSchema): Json => JSON.parse(JSON.stringify(schema)) as Json;
