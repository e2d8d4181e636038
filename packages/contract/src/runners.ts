/**
 * The protocol of runners: processes on other machines that run one attempt of a job each. docs/engines.md describes
 * it. A runner authenticates with the code, and later the token, of its attempt.
 */
import { defineRoute } from "./routes.ts";
import { nullable, oneOf } from "./schema.ts";
import { Type } from "./type.ts";

const access = { kind: "runner", why: "it presents the secret of its attempt, not a token of a user" } as const;
const tag = "Runners";
const errors = ["gone"] as const;

/** The attempt that a runner runs, as the engine named it. */
const Key = Type.String({ pattern: "^[A-Za-z0-9_-]{1,64}\\.[0-9]{1,9}$" });
const Attempt = Type.Object({ key: Key });

const BegunStep = Type.Object({
  name: Type.String({ maxLength: 40 }),
  started_at: Type.Integer({ minimum: 0, maximum: 8.64e15, description: "milliseconds since the Unix epoch" }),
});
const BegunSteps = Type.Array(BegunStep, { maxItems: 10 });

const Usage = nullable(
  Type.Object({
    cpu_seconds: Type.Number({ minimum: 0, maximum: 1e12 }),
    memory_bytes: Type.Integer({ minimum: 0 }),
    processes: Type.Integer({ minimum: 0 }),
  }),
);

/** The limits that a runner enforces. `lease`: the server was not heard, and another attempt may follow. */
export const runnerLimits = ["memory", "processes", "disk", "log", "lease"] as const;

const Orders = Type.Object(
  { cancel: Type.Boolean(), force: Type.Boolean() },
  { description: "whether the job is to be ended, and whether by SIGKILL" },
);

export const runnerClaim = defineRoute({
  id: "runnerClaim",
  method: "POST",
  path: "/api/runner/claim",
  tag,
  summary: "A runner claims its attempt and gets the job",
  access,
  query: Attempt,
  body: Type.Object({
    instance: Type.String({ pattern: "^[A-Za-z0-9_-]{8,64}$", description: "a random name of this runner" }),
    host: Type.String({ maxLength: 255 }),
    python: Type.String({ maxLength: 40 }),
  }),
  response: Type.Object(
    {
      token: Type.String(),
      orders: Orders,
      pack_ticket: Type.Optional(Type.String({ description: "present if virtualenvs of this cluster are packed" })),
    },
    { description: "the job, a token for the other calls, and the orders so far" },
  ),
  errors: [...errors, "wrong_state"],
});

export const runnerFile = defineRoute({
  id: "runnerFile",
  method: "GET",
  path: "/api/runner/file",
  tag,
  summary: "A runner reads a file that is attached to its job",
  access,
  query: Type.Object({ key: Key, index: Type.Integer({ minimum: 0, maximum: 9999 }) }),
  response: Type.String({ description: "the content" }),
  answersAs: "application/octet-stream",
  errors: [...errors, "not_found"],
});

/** The most bytes of a packed virtualenv. */
export const mostPackBytes = 8 * 1024 ** 3;

/** The key by which a runner names a virtualenv. It becomes a part of a name in the storage. */
const Virtualenv = Type.String({ pattern: "^[0-9a-f]{40}$", description: "the key of a virtualenv" });

export const runnerPack = defineRoute({
  id: "runnerPack",
  method: "GET",
  path: "/api/runner/pack",
  tag,
  summary: "A runner asks for the pack of the virtualenv that its job needs",
  access,
  query: Type.Object({ key: Key, virtualenv: Virtualenv }),
  response: Type.String({ description: "a gzipped tar archive" }),
  answersAs: "application/octet-stream",
  errors: [...errors, "not_found", "wrong_state"],
});

export const runnerStorePack = defineRoute({
  id: "runnerStorePack",
  method: "POST",
  path: "/api/runner/pack",
  tag,
  summary: "A runner stores the pack of the virtualenv that it asked for and had to build",
  access,
  query: Type.Object({
    key: Key,
    virtualenv: Virtualenv,
    ticket: Type.String({ maxLength: 100, description: "the `pack_ticket` of its claim; it works once" }),
  }),
  bytes: true,
  streamed: true,
  bodyLimit: mostPackBytes,
  response: Type.Object({}),
  errors: [...errors, "wrong_state", "insufficient_storage"],
});

export const runnerLog = defineRoute({
  id: "runnerLog",
  method: "POST",
  path: "/api/runner/log",
  tag,
  summary: "A runner sends a piece of its log",
  access,
  query: Type.Object({ key: Key, offset: Type.Integer({ minimum: 0 }) }),
  bytes: true,
  bodyLimit: 2 * 1024 * 1024,
  response: Type.Object({
    size: Type.Integer({ description: "bytes of the log that are here; the runner goes on from there" }),
  }),
  errors: [...errors, "wrong_state"],
});

export const runnerBeat = defineRoute({
  id: "runnerBeat",
  method: "POST",
  path: "/api/runner/beat",
  tag,
  summary: "A runner says that it is alive, and gets its orders: when there is a new one, or after 5 seconds",
  access,
  query: Attempt,
  body: Type.Object({
    steps: BegunSteps,
    age: Type.Number({ minimum: 0, description: "seconds since the runner began" }),
    orders: Orders,
    usage: Usage,
    wait: Type.Optional(Type.Boolean({ description: "false: answer at once; default true" })),
  }),
  response: Orders,
  errors,
});

export const runnerEnd = defineRoute({
  id: "runnerEnd",
  method: "POST",
  path: "/api/runner/end",
  tag,
  summary: "A runner reports how its attempt ended, after the whole log has arrived",
  access,
  query: Attempt,
  body: Type.Object({
    exit_code: Type.Integer({ minimum: 0, maximum: 255 }),
    phase: Type.String({ maxLength: 40 }),
    finished_at: Type.Integer({ minimum: 0, maximum: 8.64e15 }),
    log_size: Type.Integer({ minimum: 0 }),
    steps: BegunSteps,
    usage: Usage,
    over_limit: nullable(oneOf(runnerLimits, { description: "the limit that ended the job" })),
    metrics: nullable(Type.Record(Type.String(), Type.Unknown())),
  }),
  bodyLimit: 256 * 1024,
  response: Type.Object({}),
  errors: [...errors, "wrong_state"],
});
