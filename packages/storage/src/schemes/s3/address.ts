/** Where requests go: host, and style of address. */
import { encodeKey, encodeText } from "../../address/url-encoding.ts";
import type { Values } from "../../configuration/parameters.ts";
import type { parameters } from "./parameters.ts";

export interface Address {
  readonly origin: string;
  /** With a colon. */
  readonly protocol: string;
  readonly host: string;
  /** Encoded; with the bucket where it stands in the path. */
  path(key: string): string;
}

export function addressOf(values: Values<typeof parameters>, bucket: string, region: string): Address {
  const endpoint = values.endpoint_url === null ? undefined : new URL(values.endpoint_url);
  const base = endpoint ?? standardEndpoint(values.use_ssl, region);
  const { protocol } = base;
  const folder = base.pathname.replace(/\/$/, "");
  if (isVirtual(values["config_kwargs.s3.addressing_style"], bucket, endpoint !== undefined)) {
    const host = `${bucket}.${base.host}`;
    return { origin: `${base.protocol}//${host}`, protocol, host, path: (key) => `${folder}/${encodeKey(key)}` };
  }
  const { origin, host } = base;
  const start = `${folder}/${encodeText(bucket)}`;
  return { origin, protocol, host, path: (key) => (key === "" ? start : `${start}/${encodeKey(key)}`) };
}

const standardEndpoint = (tls: boolean, region: string) =>
  new URL(`${tls ? "https" : "http"}://s3.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`);

/** Names with dots fit no certificate, and other stores seldom have a host for each bucket. */
function isVirtual(style: string, bucket: string, custom: boolean): boolean {
  if (bucket === "") return false;
  if (style !== "auto") return style === "virtual";
  return !custom && /^[a-z0-9][a-z0-9-]*$/.test(bucket);
}
