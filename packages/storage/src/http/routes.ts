/** The connection pools that requests use: direct to a server, or through a proxy. */
import { Agent, type Dispatcher, ProxyAgent } from "undici";
import { DirectHttp } from "./direct-http.ts";
import type { HttpSettings } from "./messages.ts";

interface Route {
  readonly agent: Dispatcher;
  /**
   * Direct connections, for content. Undefined if requests go through a proxy, or if connections must not be reused.
   */
  readonly direct: DirectHttp | undefined;
}

export interface Routes {
  to(origin: string): Route;
  close(): Promise<void>;
}

export function createRoutes(settings: HttpSettings): Routes {
  const straight = straightRoute(settings);
  const { proxyFor } = settings;
  if (!proxyFor) return { to: () => straight, close: () => closeRoutes([straight]) };
  const byProxy = new Map<string, Route>();
  const byOrigin = new Map<string, Route>();
  const find = (origin: string) => {
    const proxy = proxyFor(new URL(origin));
    if (proxy === undefined) return straight;
    const route = byProxy.get(proxy) ?? { agent: proxyAgent(settings, proxy), direct: undefined };
    byProxy.set(proxy, route);
    return route;
  };
  return {
    to(origin) {
      const route = byOrigin.get(origin) ?? find(origin);
      byOrigin.set(origin, route);
      return route;
    },
    close: () => closeRoutes([straight, ...byProxy.values()]),
  };
}

async function closeRoutes(routes: readonly Route[]): Promise<void> {
  for (const { direct } of routes) direct?.close();
  await Promise.all(routes.map(({ agent }) => agent.destroy()));
}

function straightRoute(settings: HttpSettings): Route {
  const isClosing = settings.idleTimeout === 0;
  return { agent: new Agent(optionsOf(settings)), direct: isClosing ? undefined : new DirectHttp(settings) };
}

function proxyAgent(settings: HttpSettings, uri: string): ProxyAgent {
  const options = optionsOf(settings);
  const { authorities, identity } = settings.proxyTls ?? {};
  const { timeout } = options.connect;
  return new ProxyAgent({
    ...options,
    uri,
    requestTls: options.connect,
    proxyTls: { timeout, ...(authorities === undefined ? {} : { ca: authorities }), ...identity },
    ...(settings.proxyAuthorization === undefined ? {} : { token: settings.proxyAuthorization }),
  });
}

function optionsOf(settings: HttpSettings) {
  const { authorities, identity, keepsAlive, idleTimeout } = settings;
  return {
    connections: settings.connections,
    headersTimeout: settings.readTimeout * 1000,
    bodyTimeout: settings.readTimeout * 1000,
    // One request at a time per connection: with pipelining, a slow answer delays those behind it. With 0, the
    // connection is closed after one request.
    pipelining: idleTimeout === 0 ? 0 : 1,
    ...(idleTimeout ? { keepAliveTimeout: idleTimeout * 1000 } : {}),
    allowH2: false,
    connect: {
      timeout: settings.connectTimeout * 1000,
      rejectUnauthorized: settings.verify !== false,
      ...(authorities === undefined ? {} : { ca: authorities }),
      ...identity,
      ...(keepsAlive === undefined ? {} : { keepAlive: keepsAlive }),
    },
  };
}
