/** Health checks, the state of the server, and the description of the API itself. */
import type { Static } from "typebox";
import { defineRoute } from "./routes.ts";
import { AnyMap, nullable, oneOf, Timestamp } from "./schema.ts";
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

const Load = Type.Object(
  {
    name: Type.String(),
    slots: Type.Integer(),
    busy: Type.Integer({ description: "slots in use" }),
    waiting: Type.Integer({ description: "jobs that wait for a slot" }),
    oldest_seconds: Type.Integer({ description: "age of the oldest waiting job; 0 if none waits" }),
  },
  { $id: "ClusterLoad" },
);

export const SystemState = Type.Object(
  {
    version: Type.String(),
    node: Type.String({ description: "version of Node.js" }),
    started_at: Timestamp,
    ready: Type.Boolean({ description: "whether the database answers and jobs are accepted" }),
    memory_bytes: Type.Integer({ description: "resident memory of the server process" }),
    disk_free_bytes: nullable(Type.Integer({ description: "free space in the data folder; null if it is unknown" })),
    disk_low: Type.Boolean({ description: "true while no job is started because free disk space is low" }),
    sends_mail: Type.Boolean({ description: "whether the operator has set up e-mail" }),
    clusters: Type.Array(Load),
    teams: Type.Array(Type.Object({ name: Type.String(), running: Type.Integer(), waiting: Type.Integer() }), {
      description: "teams that have running or waiting jobs",
    }),
  },
  { $id: "SystemState" },
);
export type SystemState = Static<typeof SystemState>;

export const getSystem = defineRoute({
  id: "getSystem",
  method: "GET",
  path: "/api/system",
  tag: "System",
  summary: "Read the state of the server: version, disk, queue",
  access: { kind: "admin", scope: "ADMIN:read", why: "the state names every team" },
  response: SystemState,
});

export const Finding = Type.Object(
  {
    level: oneOf(["ok", "warn", "error"]),
    topic: Type.String(),
    message: Type.String(),
    next: Type.Optional(Type.String({ description: "what to do about the problem" })),
  },
  { $id: "Finding" },
);
export type Finding = Static<typeof Finding>;

export const getDoctor = defineRoute({
  id: "getDoctor",
  method: "GET",
  path: "/api/doctor",
  tag: "System",
  summary: "Check the configuration and the machine of the server",
  access: { kind: "admin", scope: "ADMIN:read", why: "the findings name paths and programs of the machine" },
  response: Type.Object({ checked_at: Timestamp, findings: Type.Array(Finding) }),
});
