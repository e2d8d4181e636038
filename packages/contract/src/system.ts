/** Health checks, and the description of the API itself. */

import { defineRoute } from "./routes.ts";
import { AnyMap } from "./schema.ts";
import { Type } from "./type.ts";

const Health = Type.Object({ status: Type.String() });

export const healthz = defineRoute({
  id: "healthz",
  method: "GET",
  path: "/healthz",
  tag: "System",
  summary: "Check that the server process is up",
  access: { kind: "public", why: "probes have no token; the answer is only ok" },
  response: Health,
});

export const readyz = defineRoute({
  id: "readyz",
  method: "GET",
  path: "/readyz",
  tag: "System",
  summary: "Check that the database answers and jobs are accepted",
  access: { kind: "public", why: "probes have no token; the answer is only ready" },
  response: Health,
  errors: ["unavailable"],
});

export const metrics = defineRoute({
  id: "metrics",
  method: "GET",
  path: "/metrics",
  tag: "System",
  summary: "Read metrics in the Prometheus exposition format",
  access: {
    kind: "admin",
    scope: "ADMIN:read",
    why: "metrics name every team; with MILLRACE_METRICS_OPEN no token is needed",
  },
  response: Type.String(),
  answersAs: "text/plain",
});

export const openapiJson = defineRoute({
  id: "openapiJson",
  method: "GET",
  path: "/api/openapi.json",
  tag: "System",
  summary: "Read this document",
  access: { kind: "public", why: "the description of the API is no secret" },
  response: AnyMap,
});
