/**
 * Members of `config_kwargs`: every option of botocore's Config and aiobotocore's; connection-kwargs.ts has those for
 * connections.
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
    help: "Only version 4; version 2 is no longer taken by the stores.",
  },
  "config_kwargs.auth_scheme_preference": refused("requests are signed by version 4 only", "Ways to sign, best first."),
  "config_kwargs.sigv4a_signing_region_set": refused(
    "signatures of version 4a, for several regions, are not made",
    "Regions that a signature is good for.",
  ),
  "config_kwargs.request_checksum_calculation": {
    type: "string",
    default: "when_required",
    choices: checksums,
    effect: "native",
    sources: ["config_kwargs.request_checksum_calculation", "$AWS_REQUEST_CHECKSUM_CALCULATION"],
    help: "when_supported: a CRC32 goes with what is written, which the store checks and keeps.",
  },
  "config_kwargs.response_checksum_validation": {
    type: "string",
    default: "when_required",
    choices: checksums,
    effect: "native",
    sources: ["config_kwargs.response_checksum_validation", "$AWS_RESPONSE_CHECKSUM_VALIDATION"],
    help: "when_supported: whole objects that are read are held against the CRC32, SHA-1 or SHA-256 that the store keeps.",
  },
} as const satisfies ParameterTable;

const words = {
  "config_kwargs.user_agent": { type: "string", default: null, effect: "native", help: "User-Agent of every request." },
  "config_kwargs.user_agent_extra": {
    type: "string",
    default: null,
    effect: "native",
    help: "Follows the User-Agent, which is millrace-storage then, if it is not given.",
  },
  "config_kwargs.user_agent_appid": {
    type: "string",
    default: null,
    effect: "native",
    sources: ["config_kwargs.user_agent_appid", "$AWS_SDK_UA_APP_ID"],
    help: "Goes into the User-Agent as app/NAME, unless user_agent is given.",
  },
  "config_kwargs.parameter_validation": idle("boolean", "what is sent is always checked first", "Check calls."),
  "config_kwargs.request_min_compression_size_bytes": idle(
    "integer",
    "the store takes no compressed requests",
    "Bytes from which on a request is compressed.",
  ),
  "config_kwargs.disable_request_compression": idle(
    "boolean",
    "the store takes no compressed requests",
    "Compress no requests.",
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
    help: "The standard endpoint that has IPv6, too.",
  },
  "config_kwargs.use_fips_endpoint": {
    type: "boolean",
    default: false,
    effect: "native",
    sources: ["config_kwargs.use_fips_endpoint", "$AWS_USE_FIPS_ENDPOINT"],
    help: "The standard endpoint whose cryptography is validated by FIPS.",
  },
  "config_kwargs.ignore_configured_endpoint_urls": {
    type: "boolean",
    default: false,
    effect: "native",
    sources: ["config_kwargs.ignore_configured_endpoint_urls", "$AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"],
    help: "Take no endpoint from AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL.",
  },
  "config_kwargs.s3": dict("Options that only this store has."),
  "config_kwargs.s3.addressing_style": {
    type: "string",
    default: "auto",
    choices: ["auto", "path", "virtual"],
    effect: "native",
    help: "Whether the bucket stands in the path or in the host name; auto: in the path of an endpoint_url.",
  },
  "config_kwargs.s3.use_accelerate_endpoint": {
    type: "boolean",
    default: false,
    effect: "native",
    help: "The standard endpoint for transfers over long distances; the bucket stands in the host name.",
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
    help: "Whether the signature covers what is written; unset: where there is no TLS, which it always does there.",
  },
  "config_kwargs.s3.use_arn_region": refused(
    "a bucket is named by its name, not by an ARN",
    "Take the region from the ARN of an access point.",
  ),
  "config_kwargs.s3.s3_disable_express_session_auth": idle(
    "boolean",
    "sessions of directory buckets are never made",
    "Sign calls to directory buckets as all others.",
  ),
  "config_kwargs.s3_disable_express_session_auth": idle(
    "boolean",
    "sessions of directory buckets are never made",
    "The same.",
  ),
  "config_kwargs.inject_host_prefix": idle("boolean", "no call that is made has such a prefix", "Prefixes of hosts."),
  "config_kwargs.endpoint_discovery_enabled": idle("boolean", "the store does not have it", "Ask for endpoints."),
  "config_kwargs.account_id_endpoint_mode": idle(
    "string",
    "no address of this store names an account",
    "Addresses with the number of the account.",
  ),
  "config_kwargs.client_context_params": refused(
    "what it holds for this store has options of its own in config_kwargs.s3",
    "Options that only this store has.",
  ),
} as const satisfies ParameterTable;

const attempts = {
  "config_kwargs.retries": dict("How often a call is made."),
  "config_kwargs.retries.total_max_attempts": {
    type: "integer",
    default: null,
    minimum: 1,
    effect: "native",
    sources: ["config_kwargs.retries.total_max_attempts", "$AWS_MAX_ATTEMPTS"],
    help: "How often a call is made, the first time included; unset: 5, or 3 where mode is standard or adaptive.",
  },
  "config_kwargs.retries.max_attempts": {
    type: "integer",
    default: null,
    minimum: 0,
    effect: "native",
    help: "How often a call is made again: one less than total_max_attempts, which goes before it.",
  },
  "config_kwargs.retries.mode": {
    type: "string",
    default: "legacy",
    choices: ["legacy", "standard", "adaptive"],
    effect: "emulated",
    reason: "calls are made again in one way, after growing, random pauses, and as long as the store says",
    sources: ["config_kwargs.retries.mode", "$AWS_RETRY_MODE"],
    help: "Says how often, where nothing else does.",
  },
  "config_kwargs.defaults_mode": refused(
    "it stands for other options, whose values change from release to release; give those",
    "Name of a set of options.",
  ),
} as const satisfies ParameterTable;

export const configKwargs = { ...connectionKwargs, ...attempts, ...words, ...signing, ...addresses };
