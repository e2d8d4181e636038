/** Parameters of `s3://`. */
import type { ParameterTable } from "../../configuration/parameters.ts";
import { cacheTypes } from "../../random-access/cache-types.ts";
import { clientKwargs, sessionKwargs } from "./client-kwargs.ts";
import { configKwargs } from "./config-kwargs.ts";

const group = "credentials";

export const parameters = {
  anon: {
    type: "boolean",
    default: false,
    effect: "native",
    help: "Send requests without a signature: for public buckets only.",
  },
  endpoint_url: {
    type: "string",
    default: null,
    effect: "native",
    sources: [
      "endpoint_url",
      "aws_endpoint_url",
      "client_kwargs.endpoint_url",
      "$AWS_ENDPOINT_URL_S3",
      "$AWS_ENDPOINT_URL",
    ],
    help: "Endpoint of a store other than AWS; it may have a path.",
  },
  key: {
    type: "string",
    default: null,
    effect: "native",
    group,
    sources: ["key", "aws_key", "username", "client_kwargs.aws_access_key_id", "$AWS_ACCESS_KEY_ID"],
    help: "Access key id. Without it, the AWS provider chain is used: environment, files, web identity, instance role.",
  },
  secret: {
    type: "string",
    default: null,
    effect: "native",
    group,
    secret: true,
    sources: ["secret", "aws_secret", "password", "client_kwargs.aws_secret_access_key", "$AWS_SECRET_ACCESS_KEY"],
    help: "Secret access key.",
  },
  token: {
    type: ["string", "function"],
    default: null,
    effect: "native",
    group,
    secret: true,
    sources: ["token", "aws_token", "client_kwargs.aws_session_token", "$AWS_SESSION_TOKEN"],
    help: "Session token, or a function that returns a token or { key, secret, token, expires_at } when called.",
  },
  use_ssl: {
    type: "boolean",
    default: true,
    effect: "native",
    sources: ["client_kwargs.use_ssl", "use_ssl"],
    help: "Use TLS with the standard endpoint; with an endpoint_url, its protocol decides.",
  },
  s3_additional_kwargs: {
    type: "dict",
    default: {},
    effect: "native",
    secretMembers: ["SSECustomerKey", "CopySourceSSECustomerKey", "MFA"],
    help: "Arguments of S3 calls, such as ServerSideEncryption; each is sent with the calls that accept it.",
  },
  client_kwargs: {
    type: "dict",
    default: {},
    effect: "native",
    help: "Options of the client, listed in docs/client-options.md: region_name, endpoint_url, verify and others.",
  },
  requester_pays: {
    type: "boolean",
    default: false,
    effect: "native",
    help: "Send x-amz-request-payer with every call.",
  },
  default_block_size: {
    type: "integer",
    default: null,
    minimum: 1,
    effect: "emulated",
    help: "Size of a range and of a part in bytes; 5 MiB if unset. Below 5 MiB, multipart uploads are refused.",
  },
  default_fill_cache: {
    type: "boolean",
    default: true,
    effect: "no-op",
    reason: "s3fs stores it and never reads it; default_cache_type selects the cache",
    help: "Whether opening a file fills the cache.",
  },
  default_cache_type: {
    type: "string",
    default: "readahead",
    choices: cacheTypes,
    nullMeans: "none",
    effect: "emulated",
    help: "Cache of a file opened for random access; null means none.",
  },
  version_aware: {
    type: "boolean",
    default: false,
    effect: "native",
    help: "List and read versions; a read keeps to the version or ETag that it began with.",
  },
  cache_regions: {
    type: "boolean",
    default: false,
    effect: "native",
    help: "Look up the bucket's region once, before the first call, unless a region or an endpoint is given.",
  },
  asynchronous: {
    type: "boolean",
    default: false,
    effect: "no-op",
    reason: "everything is asynchronous on Node",
    help: "Use inside coroutines.",
  },
  config_kwargs: {
    type: "dict",
    default: {},
    effect: "native",
    help: "Options of botocore's Config, listed in docs/client-options.md: timeouts, retries, proxies, s3 and others.",
  },
  kwargs: {
    type: "dict",
    default: {},
    effect: "native",
    help: "Options of the session, listed in docs/client-options.md: profile.",
  },
  session: {
    type: ["object", "function"],
    default: null,
    effect: "emulated",
    reason:
      "there are no botocore sessions on Node; an S3 client supplies its credentials and region, a function supplies credentials",
    help: "An S3 client of the AWS SDK, or a function that returns credentials.",
  },
  max_concurrency: {
    type: "integer",
    default: 1,
    minimum: 1,
    effect: "emulated",
    help: "Maximum number of parts or ranges of one object that are transferred at once; each needs memory for a block.",
  },
  ...clientKwargs,
  ...configKwargs,
  ...sessionKwargs,
} as const satisfies ParameterTable;
