/** Selects the proxy for an origin: from parameters or from the environment. */
import type { Environment } from "../configuration/parameters.ts";

/** Returns the URL of a proxy, or undefined for a direct connection. */
export type ProxyFor = (origin: URL) => string | undefined;

/** Looks up the proxy by protocol and host, such as `https://host`, and then by protocol alone, such as `https`. */
export function proxiesByName(proxies: Readonly<Record<string, unknown>>): ProxyFor {
  return ({ protocol, host, hostname }) => {
    const names = [`${protocol}//${host}`, `${protocol}//${hostname}`, protocol.slice(0, -1)];
    const given = names.map((name) => proxies[name]).find((value) => typeof value === "string" && value !== "");
    return given === undefined ? undefined : urlOf(String(given));
  };
}

/**
 * Returns a function that selects the proxy from the environment, or undefined if the environment names no proxy.
 * Lower-case variables win over upper-case ones, as usual.
 */
export function proxiesOfEnvironment(environment: Environment): ProxyFor | undefined {
  const read = (name: string) => environment[name] || environment[name.toUpperCase()];
  const proxies = { http: read("http_proxy"), https: read("https_proxy") };
  if (!proxies.http && !proxies.https) return undefined;
  const byName = proxiesByName(proxies);
  const spared = (read("no_proxy") ?? "").split(",").map((name) => name.trim().replace(/^\./, "").toLowerCase());
  return (origin) => (isSpared(spared, origin) ? undefined : byName(origin));
}

/** Whether NO_PROXY exempts the host. A name in NO_PROXY also exempts its subdomains; `*` exempts all hosts. */
function isSpared(spared: readonly string[], { hostname, host }: URL): boolean {
  return spared.some((name) => name === "*" || (name !== "" && [hostname, host].some((whole) => isBelow(whole, name))));
}

const isBelow = (host: string, name: string) => host === name || host.endsWith(`.${name}`);

/** Returns the URL of a proxy. Users often give only host and port; the connection to such a proxy uses http. */
export const urlOf = (proxy: string) =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy.replace(/^\/\//, "")}`;

export const isProxy = (proxy: unknown) => typeof proxy === "string" && /^https?:$/.test(protocolOf(urlOf(proxy)));

const protocolOf = (url: string) => (URL.canParse(url) ? new URL(url).protocol : "");
