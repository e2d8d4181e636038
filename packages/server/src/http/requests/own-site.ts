/**
 * Tells requests of our own pages from requests that a page of another site makes the browser send. The cookie attribute
 * SameSite already keeps the session cookie from most of those, but not in old browsers, and not for other ports and
 * subdomains of the same site.
 */
import type { IncomingHttpHeaders } from "node:http";
import type { Site } from "./site.ts";

interface Sent {
  readonly method?: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Browsers send Sec-Fetch-Site only over HTTPS and to this machine; otherwise Origin must match. A GET without either is
 * accepted, because another site cannot read its answer, and it changes nothing. The upgrade to a WebSocket is a GET
 * that always has an Origin in a browser. Behind a proxy that passes the host without its port, Origin matches the
 * public URL alone.
 */
export function isOwnSite({ method, headers }: Sent, site: Site): boolean {
  const { origin, host } = headers;
  if (origin !== undefined && ![host, site.host].includes(hostOf(origin) ?? "none")) return false;
  const fetched = headers["sec-fetch-site"];
  if (fetched !== undefined) return fetched === "same-origin" || fetched === "none";
  const isUpgrade = headers.upgrade !== undefined;
  return origin !== undefined || (!isUpgrade && (method === "GET" || method === "HEAD"));
}

/** Returns the host of an Origin header; undefined if the header is not a valid URL. */
const hostOf = (origin: string) => (URL.canParse(origin) ? new URL(origin).host : undefined);
