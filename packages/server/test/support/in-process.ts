/** A server inside the test's own process, with a fresh data folder. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Client, createClient } from "@millrace/contract";
import { closedAtEnd } from "@millrace/testing/servers/left-open.ts";
import { type Logger, pino } from "pino";
import { type RunningServer, type ServerOptions, startServer } from "../../src/app/server.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { type AdminTokenOptions, createAdminToken } from "../../src/domain/people/tokens.ts";

export interface InProcessServer extends RunningServer {
  readonly dataDir: string;
  token(options?: AdminTokenOptions): Promise<string>;
  client(options?: AdminTokenOptions): Promise<Client>;
  /** Sends any request, with a token of the admin unless another or none is given. */
  fetch(path: string, init?: RequestInit & { token?: string | null; json?: unknown }): Promise<Response>;
  dispose(): Promise<void>;
}

export async function startInProcess(
  env: Record<string, string> = {},
  log: Logger = pino({ level: "silent" }),
  options: ServerOptions = {},
): Promise<InProcessServer> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-http-"));
  const settings = {
    PATH: process.env["PATH"],
    MILLRACE_LOGIN_RATE: "1000",
    MILLRACE_DATA_DIR: dataDir,
    MILLRACE_PORT: "0",
    // Sandboxes have their own tests; here they would only cost time.
    MILLRACE_ISOLATION: "none",
    ...env,
  };
  const server = await startServer(readConfig({}, settings), log, options);
  const token = (options: AdminTokenOptions = {}) => createAdminToken(server.store, options, Date.now());
  const admin = await token();
  return {
    ...server,
    dataDir,
    token,
    client: async (options) => createClient({ url: server.url, token: await token(options), team: "main" }),
    async fetch(path, { token: other, json, ...init } = {}) {
      const headers = new Headers(init.headers);
      if (other !== null) headers.set("authorization", `Bearer ${other ?? admin}`);
      if (json !== undefined) headers.set("content-type", "application/json");
      return fetch(server.url + path, {
        ...init,
        headers,
        ...(json === undefined ? {} : { method: init.method ?? "POST", body: JSON.stringify(json) }),
      });
    },
    dispose: closedAtEnd(async () => {
      await server.stop();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    }),
  };
}
