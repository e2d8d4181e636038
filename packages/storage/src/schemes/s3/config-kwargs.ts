/**
 * Members of `config_kwargs`: every option of the Config classes of botocore and aiobotocore. Options of connections
 * are in connection-kwargs.ts.
 */
import { dict, idle, refused } from "../../configuration/options.ts";
import type { ParameterTable } from "../../configuration/parameters.ts";
import { connectionKwargs } from "./connection-kwargs.ts";

const checksums = ["when_supported", "when_required"];

const signing = {
  "config_kwargs.signature_version": {
    type: "string",
    default: "s3v4",
    choices: ["s3v4"],
    effect: "native",
    help: "Only version 4; stores no longer accept version 2.",
  },
  "config_kwargs.auth_scheme_preference": refused(
    "requests are always signed with AWS Signature Version 4",
    "Signature schemes, the preferred one first.",
  ),
  "config_kwargs.sigv4a_signing_region_set": refused(
    "requests are always signed for one region, with AWS Signature Version 4",
    "Regions that a signature is valid for.",
  ),
  "config_kwargs.request_checksum_calculation": {
    type: "string",
    default: "when_required",
    choices: checksums,
    effect: "native",
    sources: ["config_kwargs.request_checksum_calculation", "$AWS_REQUEST_CHECKSUM_CALCULATION"],
    help: "when_supported: sends a CRC32 with writes, which the store verifies and keeps.",
  },
  "config_kwargs.response_checksum_validation": {
    type: "string",
    default: "when_required",
    choices: checksums,
    effect: "native",
    sources: ["config_kwargs.response_checksum_validation", "$AWS_RESPONSE_CHECKSUM_VALIDATION"],
    help: "when_supported: verifies reads of whole objects against the CRC32, SHA-1 or SHA-256 that the store keeps.",
  },
} as const satisfies ParameterTable;

const words = {
  "config_kwargs.user_agent": { type: "string", default: null, effect: "native", help: "User-Agent of every request." },
  "config_kwargs.user_agent_extra": {
    type: "string",
    default: null,
    effect: "native",
    help: "Text appended to the User-Agent, which is millrace-storage by default.",
  },
  "config_kwargs.user_agent_appid": {
    type: "string",
    default: null,
    effect: "native",
    sources: ["config_kwargs.user_agent_appid", "$AWS_SDK_UA_APP_ID"],
    help: "Application name, added to the User-Agent as app/NAME unless user_agent is given.",
  },
  "config_kwargs.parameter_validation": idle("boolean", "arguments are always validated", "Validate arguments."),
  "config_kwargs.request_min_compression_size_bytes": idle(
    "integer",
    "the store takes no compressed requests",
    "Minimum size in bytes of requests that are compressed.",
  ),
  "config_kwargs.disable_request_compression": idle(
    "boolean",
    "the store takes no compressed requests",
    "Do not compress requests.",
  ),
} as const satisfies ParameterTable;

const addresses = {
  "config_kwargs.use_dualstack_endpoint": {
    type: "boolean",
    default: false,
    effect: "native",
    sources: [
      "config_kwargs.use_dualstack_endpoint",
      "config_kwargs.s3.use_dualstack_endpoint",
      "$AWS_USE_DUALSTACK_ENDPOINT",
    ],
    help: "Use the standard endpoint with IPv6 support.",
  },
  "config_kwargs.use_fips_endpoint": {
    type: "boolean",
    default: false,
    effect: "native",
    sources: ["config_kwargs.use_fips_endpoint", "$AWS_USE_FIPS_ENDPOINT"],
    help: "Use the standard endpoint with FIPS-validated cryptography.",
  },
  "config_kwargs.ignore_configured_endpoint_urls": {
    type: "boolean",
    default: false,
    effect: "native",
    sources: ["config_kwargs.ignore_configured_endpoint_urls", "$AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"],
    help: "Ignore AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL.",
  },
  "config_kwargs.s3": dict("Options of S3 alone."),
  "config_kwargs.s3.addressing_style": {
    type: "string",
    default: "auto",
    choices: ["auto", "path", "virtual"],
    effect: "native",
    help: "Whether the bucket is in the path or in the host name; auto: in the path if endpoint_url is set.",
  },
  "config_kwargs.s3.use_accelerate_endpoint": {
    type: "boolean",
    default: false,
    effect: "native",
    help: "Use the transfer acceleration endpoint, with the bucket in the host name.",
  },
  "config_kwargs.s3.us_east_1_regional_endpoint": {
    type: "string",
    default: "regional",
    choices: ["regional", "legacy"],
    effect: "native",
    sources: ["config_kwargs.s3.us_east_1_regional_endpoint", "$AWS_S3_US_EAST_1_REGIONAL_ENDPOINT"],
    help: "legacy: s3.amazonaws.com for us-east-1.",
  },
  "config_kwargs.s3.payload_signing_enabled": {
    type: "boolean",
    default: null,
    effect: "native",
    help: "Whether the signature covers the body of writes. Without TLS it always does; with TLS it does only if this is true.",
  },
  "config_kwargs.s3.use_arn_region": refused(
    "buckets are addressed by name, not by ARN",
    "Use the region in the ARN of an access point.",
  ),
  "config_kwargs.s3.s3_disable_express_session_auth": idle(
    "boolean",
    "sessions for directory buckets are never created",
    "Sign calls to directory buckets like all others.",
  ),
  "config_kwargs.s3_disable_express_session_auth": idle(
    "boolean",
    "sessions for directory buckets are never created",
    "The same as config_kwargs.s3.s3_disable_express_session_auth.",
  ),
  "config_kwargs.inject_host_prefix": idle("boolean", "no call uses a host prefix", "Add host prefixes."),
  "config_kwargs.endpoint_discovery_enabled": idle("boolean", "S3 does not support it", "Discover endpoints."),
  "config_kwargs.account_id_endpoint_mode": idle(
    "string",
    "no S3 address contains an account id",
    "Whether addresses contain the account id.",
  ),
  "config_kwargs.client_context_params": refused("use the options of config_kwargs.s3 instead", "Options of S3 alone."),
} as const satisfies ParameterTable;

const attempts = {
  "config_kwargs.retries": dict("Retry options."),
  "config_kwargs.retries.total_max_attempts": {
    type: "integer",
    default: null,
    minimum: 1,
    effect: "native",
    sources: ["config_kwargs.retries.total_max_attempts", "$AWS_MAX_ATTEMPTS"],
    help: "Maximum number of attempts, the first included; if unset, 5, or 3 if mode is standard or adaptive.",
  },
  "config_kwargs.retries.max_attempts": {
    type: "integer",
    default: null,
    minimum: 0,
    effect: "native",
    help: "Maximum number of retries after the first attempt; total_max_attempts wins over it.",
  },
  "config_kwargs.retries.mode": {
    type: "string",
    default: "legacy",
    choices: ["legacy", "standard", "adaptive"],
    effect: "emulated",
    reason: "all modes retry the same way: after growing random pauses that respect the store's Retry-After",
    sources: ["config_kwargs.retries.mode", "$AWS_RETRY_MODE"],
    help: "Sets the default number of attempts.",
  },
  "config_kwargs.defaults_mode": refused(
    "it selects defaults that change from release to release; set the options themselves",
    "Name of a set of default options.",
  ),
} as const satisfies ParameterTable;

export const configKwargs = { ...connectionKwargs, ...attempts, ...words, ...signing, ...addresses };
