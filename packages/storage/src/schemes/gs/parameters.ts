/** Parameters of `gs://`. */
import type { ParameterTable } from "../../configuration/parameters.ts";
import { sessionKwargs } from "./session-kwargs.ts";

export const parameters = {
  project: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["project", "$GCSFS_DEFAULT_PROJECT", "$GOOGLE_CLOUD_PROJECT"],
    help: "Project to work under; overridden when token is google_default, ignored when it is anon.",
  },
  access: {
    type: "string",
    default: null,
    choices: ["read_only", "read_write", "full_control"],
    effect: "native",
    help: "Scope of the credentials; full control when unset.",
  },
  token: {
    type: ["string", "dict"],
    default: null,
    effect: "native",
    secret: true,
    help: "google_default, cloud, anon, the path of a token file, an access token, or a token dictionary; unset: default credentials, then the metadata server, then none.",
  },
  consistency: {
    type: "string",
    default: null,
    choices: ["none", "size", "md5"],
    effect: "emulated",
    help: "What is checked after a write; md5 falls back to crc32c for objects made of parts.",
  },
  cache_timeout: {
    type: "number",
    default: null,
    effect: "emulated",
    help: "Seconds that listings are kept; 0 or less: not at all; unset: as long as the storage is open. Changes made through it are seen.",
  },
  secure_serialize: {
    type: "boolean",
    default: null,
    effect: "no-op",
    reason: "deprecated, and ignored by the original too",
    help: "Deprecated.",
  },
  requester_pays: {
    type: ["boolean", "string"],
    default: false,
    effect: "native",
    help: "Bill the project, or the one that is named.",
  },
  session_kwargs: {
    type: "dict",
    default: {},
    effect: "native",
    help: "Options of the HTTP client, one by one in docs/client-options.md: proxy, trust_env, headers, timeout and others.",
  },
  endpoint_url: {
    type: "string",
    default: null,
    effect: "native",
    sources: ["endpoint_url", "$STORAGE_EMULATOR_HOST"],
    help: "protocol://host:port without a path; http:// is added to the variable's value where it is missing.",
  },
  default_location: {
    type: "string",
    default: null,
    effect: "native",
    help: "Where buckets are made.",
  },
  version_aware: {
    type: "boolean",
    default: false,
    effect: "native",
    help: "List and read generations.",
  },
  ...sessionKwargs,
} as const satisfies ParameterTable;
