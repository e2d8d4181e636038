/** Loads the server package, which is large, only for the commands that need it. */
import { messageOf, usageError } from "./errors.ts";

export type Server = typeof import("@millrace/server");
export type Config = ReturnType<Server["readConfig"]>;

export type Rotation = Awaited<ReturnType<Server["adminRotateKey"]>>;

export type Manifest = Awaited<ReturnType<Server["backup"]>>;

export const loadServer = (): Promise<Server> => import("@millrace/server");

const names = ["host", "port", "data-dir", "database-url"] as const;

/**
 * Reads the configuration of the server from environment variables and from flags. All commands that run on the
 * server's machine, such as `serve`, `admin` and `backup`, have these flags.
 */
export function serverConfig(
  server: Server,
  flags: Readonly<Record<(typeof names)[number], string | undefined>>,
): Config {
  try {
    return server.readConfig(Object.fromEntries(names.map((name) => [name, flags[name]])));
  } catch (error) {
    throw usageError("Invalid server configuration", {
      why: messageOf(error),
      next: "millrace serve --help",
      cause: error,
    });
  }
}
