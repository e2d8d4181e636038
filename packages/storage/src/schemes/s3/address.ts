/** Determines the address of requests: the host, and whether the bucket is in the path or in the host name. */
import { encodeKey, encodeText } from "../../address/url-encoding.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import type { parameters } from "./parameters.ts";

type S3Configuration = Configuration<typeof parameters>;

export interface Address {
  readonly origin: string;
  /** Protocol with a colon, such as `https:`. */
  readonly protocol: string;
  readonly host: string;
  /** Returns the encoded path of a key. It contains the bucket, unless the bucket is in the host name. */
  path(key: string): string;
}

export function addressOf(configuration: S3Configuration, bucket: string, region: string): Address {
  const { values } = configuration;
  const given = endpointOf(configuration);
  const endpoint = given === null ? undefined : new URL(given);
  const base = endpoint ?? new URL(`${values.use_ssl ? "https" : "http"}://${standardHost(values, bucket, region)}`);
  const { protocol } = base;
  const folder = base.pathname.replace(/\/$/, "");
  if (isVirtual(values, bucket, endpoint !== undefined)) {
    const host = `${bucket}.${base.host}`;
    return { origin: `${base.protocol}//${host}`, protocol, host, path: (key) => `${folder}/${encodeKey(key)}` };
  }
  const { origin, host } = base;
  const start = `${folder}/${encodeText(bucket)}`;
  return { origin, protocol, host, path: (key) => (key === "" ? start : `${start}/${encodeKey(key)}`) };
}

/**
 * Returns the configured endpoint, or null for the standard one. If `ignore_configured_endpoint_urls` is true,
 * endpoints from environment variables of AWS are ignored.
 */
export function endpointOf({ values, sourceOf }: S3Configuration): string | null {
  const isConfigured = sourceOf("endpoint_url").startsWith("environment AWS_");
  return isConfigured && values["config_kwargs.ignore_configured_endpoint_urls"] ? null : values.endpoint_url;
}

function standardHost(values: S3Configuration["values"], bucket: string, region: string): string {
  const domain = `amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
  const dual = values["config_kwargs.use_dualstack_endpoint"] ? "dualstack." : "";
  // There is no accelerated endpoint for listing buckets.
  if (values["config_kwargs.s3.use_accelerate_endpoint"] && bucket !== "") return `s3-accelerate.${dual}${domain}`;
  const service = values["config_kwargs.use_fips_endpoint"] ? "s3-fips" : "s3";
  const isLegacy = values["config_kwargs.s3.us_east_1_regional_endpoint"] === "legacy" && region === "us-east-1";
  if (isLegacy && dual === "" && service === "s3") return `s3.${domain}`;
  return `${service}.${dual}${region}.${domain}`;
}

/**
 * Whether the bucket is part of the host name; otherwise it is part of the path. By default, it is part of the path in
 * two cases: a bucket name with a dot, because no wildcard certificate would match the host name, and a configured
 * endpoint, because such a store seldom has a host name for each bucket.
 */
function isVirtual(values: S3Configuration["values"], bucket: string, custom: boolean): boolean {
  const style = values["config_kwargs.s3.addressing_style"];
  if (bucket === "") return false;
  if (values["config_kwargs.s3.use_accelerate_endpoint"]) return true;
  if (style !== "auto") return style === "virtual";
  return !custom && /^[a-z0-9][a-z0-9-]*$/.test(bucket);
}
