/** The HTTP server as a part of the server: it listens when it starts, and finishes open requests when it stops. */
import type { FastifyInstance } from "fastify";
import type { Config } from "../configuration/config.ts";
import type { ListeningSettings } from "../configuration/groups/listening.ts";
import { buildApp } from "../http/app.ts";
import type { Callers } from "../http/connections/callers.ts";
import { Connections } from "../http/connections/connections.ts";
import { isTrusted } from "../http/connections/proxies.ts";
import type { HttpContext } from "../http/requests/context.ts";
import { connectionsWithin, openFilesLimit } from "../machine/open-files.ts";
import { opened, type Part } from "./part.ts";
import type { Readiness } from "./readiness.ts";

export interface HttpServer {
  readonly address: string;
  /** Stops listening and finishes open requests. May be called more than once. */
  close(): Promise<void>;
}

export const httpServer = (context: HttpContext): Part<HttpServer> =>
  opened(
    async () => {
      const app = await buildApp(context);
      context.connections.guard(app.server, context.log);
      const address = await listen(app, context.listening);
      let closing: Promise<void> | undefined;
      const close = () => {
        closing ??= app.close();
        return closing;
      };
      return { address, close };
    },
    (server) => server.close(),
  );

/**
 * How long open requests may take before other parts stop, in milliseconds. A request that waits for a hanging storage
 * ends only when the storage is closed. The HTTP server itself waits for all requests when its turn to stop comes.
 */
const graceMs = 5000;

/**
 * Returns the part that marks the server as ready. It starts last and stops first, so that requests are served only
 * while everything else runs.
 */
export const admission = (readiness: Readiness, server: HttpServer): Part =>
  opened(
    async () => readiness.begin(),
    async () => {
      readiness.end();
      const enough = Promise.withResolvers<void>();
      const grace = setTimeout(enough.resolve, graceMs);
      await Promise.race([server.close(), enough.promise]);
      clearTimeout(grace);
    },
  );

/**
 * Computes the connection limits from the limit on open files. One address gets at most half of all connections and one
 * user a quarter, so that others can still connect.
 */
export function openConnections({ requests, listening }: Config, callers: Callers): Connections {
  const { reservedFiles, addressConnections, requestSeconds } = requests;
  const total = connectionsWithin(openFilesLimit(), reservedFiles);
  const trusts = isTrusted(listening.trustProxy);
  return new Connections({
    total,
    perAddress: Math.min(addressConnections, Math.ceil(total / 2)),
    perUser: Math.ceil(total / 4),
    seconds: requestSeconds,
    callers,
    isProxy: (address: string) => trusts(address, 0),
  });
}

async function listen(app: FastifyInstance, { host, port }: ListeningSettings): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    throw Object.assign(new Error(`Port ${port} on ${host} is already in use, perhaps by another Millrace server`), {
      code: "EADDRINUSE",
    });
  }
}
