/** The server's own place on the web, as MILLRACE_PUBLIC_URL names it. */
import type { IncomingMessage, Server } from "node:http";

export interface Site {
  /** Host and port of the public URL; undefined if none is configured. */
  readonly host: string | undefined;
  /** Path prefix of the public URL without a slash at the end; empty if the server is at the root of its host. */
  readonly prefix: string;
  /** Whether browsers reach the server over HTTPS. */
  readonly isSecure: boolean;
}

export function siteOf(publicUrl: string): Site {
  if (publicUrl === "") return { host: undefined, prefix: "", isSecure: false };
  const { host, pathname, protocol } = new URL(publicUrl);
  return { host, prefix: pathname.replace(/\/+$/, ""), isSecure: protocol === "https:" };
}

/**
 * Removes the prefix from the paths of requests. Most proxies have removed it already; those that pass it on work as
 * well, and so does a browser on the machine of the server that needs no proxy. If the proxy says that it has removed
 * the prefix, another one is not removed: the path would get past a rule of the proxy about the path without it.
 */
export function dropPrefix(server: Server, { prefix }: Site): void {
  if (prefix === "") return;
  const drop = (request: IncomingMessage) => {
    if (request.headers["x-forwarded-prefix"] !== undefined) return;
    const url = request.url ?? "";
    const rest = url.slice(prefix.length);
    if (url.startsWith(prefix) && /^([/?]|$)/.test(rest)) request.url = rest.startsWith("/") ? rest : `/${rest}`;
  };
  server.prependListener("request", drop);
  server.prependListener("upgrade", drop);
}
