/** Parameters of `gs://`. */
import type { ParameterTable } from "../../configuration/parameters.ts";
import { sessionKwargs } from "./session-kwargs.ts";

export const parameters = {
  project: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["project", "$GCSFS_DEFAULT_PROJECT", "$GOOGLE_CLOUD_PROJECT"],
    help: "Project of the requests; the project of google_default credentials wins over it, and anonymous access ignores it.",
  },
  access: {
    type: "string",
    default: null,
    choices: ["read_only", "read_write", "full_control"],
    effect: "native",
    help: "Scope of the credentials; full control if unset.",
  },
  token: {
    type: ["string", "dict"],
    default: null,
    effect: "native",
    secret: true,
    help: "google_default, cloud, anon, the path of a token file, an access token, or a token dictionary; if unset, default credentials, then the metadata server, then none.",
  },
  consistency: {
    type: "string",
    default: null,
    choices: ["none", "size", "md5"],
    effect: "emulated",
    help: "What to verify after a write; md5 falls back to crc32c for composite objects.",
  },
  cache_timeout: {
    type: "number",
    default: null,
    effect: "emulated",
    help: "Seconds that listings are cached; 0 or less: they are not cached; unset: they are cached until the storage is closed. Changes made through this storage clear the cache.",
  },
  secure_serialize: {
    type: "boolean",
    default: null,
    effect: "no-op",
    reason: "deprecated, and ignored by gcsfs too",
    help: "Deprecated.",
  },
  requester_pays: {
    type: ["boolean", "string"],
    default: false,
    effect: "native",
    help: "True bills `project`; a string names the project to bill.",
  },
  session_kwargs: {
    type: "dict",
    default: {},
    effect: "native",
    help: "Options of the HTTP client, listed in docs/client-options.md: proxy, trust_env, headers, timeout and others.",
  },
  endpoint_url: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["endpoint_url", "$STORAGE_EMULATOR_HOST"],
    help: "Endpoint: protocol://host:port without a path; http:// is added to a variable without a protocol.",
  },
  default_location: {
    type: "string",
    default: null,
    effect: "native",
    help: "Location of new buckets.",
  },
  version_aware: {
    type: "boolean",
    default: false,
    effect: "native",
    help: "List and read generations.",
  },
  ...sessionKwargs,
} as const satisfies ParameterTable;
