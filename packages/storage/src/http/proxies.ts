/** Which proxy leads to an origin: as given by name, or as the environment says. */
import type { Environment } from "../configuration/parameters.ts";

/** The URL of a proxy; undefined: none, the way is direct. */
export type ProxyFor = (origin: URL) => string | undefined;

/** By protocol and host, then by protocol: `http://host`, `https`. */
export function proxiesByName(proxies: Readonly<Record<string, unknown>>): ProxyFor {
  return ({ protocol, host, hostname }) => {
    const names = [`${protocol}//${host}`, `${protocol}//${hostname}`, protocol.slice(0, -1)];
    const given = names.map((name) => proxies[name]).find((value) => typeof value === "string" && value !== "");
    return given === undefined ? undefined : urlOf(String(given));
  };
}

/** Undefined: it names none. Small letters go before capitals, as everywhere. */
export function proxiesOfEnvironment(environment: Environment): ProxyFor | undefined {
  const read = (name: string) => environment[name] || environment[name.toUpperCase()];
  const proxies = { http: read("http_proxy"), https: read("https_proxy") };
  if (!proxies.http && !proxies.https) return undefined;
  const byName = proxiesByName(proxies);
  const spared = (read("no_proxy") ?? "").split(",").map((name) => name.trim().replace(/^\./, "").toLowerCase());
  return (origin) => (isSpared(spared, origin) ? undefined : byName(origin));
}

/** A name spares its subdomains, too; `*` spares all. */
function isSpared(spared: readonly string[], { hostname, host }: URL): boolean {
  return spared.some((name) => name === "*" || (name !== "" && [hostname, host].some((whole) => isBelow(whole, name))));
}

const isBelow = (host: string, name: string) => host === name || host.endsWith(`.${name}`);

/** Often only host and port are given: then the proxy itself speaks http. */
export const urlOf = (proxy: string) =>
  /^[a-z][a-z0-9+.-]*:\/\//i.test(proxy) ? proxy : `http://${proxy.replace(/^\/\//, "")}`;

export const isProxy = (proxy: unknown) => typeof proxy === "string" && /^https?:$/.test(protocolOf(urlOf(proxy)));

const protocolOf = (url: string) => (URL.canParse(url) ? new URL(url).protocol : "");
