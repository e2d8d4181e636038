/** `millrace serve`: runs the server. */
import { CliError, messageOf } from "../errors.ts";
import { loadServer, serverConfig } from "../server.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const serve: Handler<"serve"> = async ({ flags }) => {
  const server = await loadServer();
  const config = serverConfig(server, flags);
  try {
    await server.serve(config);
  } catch (error) {
    const inUse = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
    const stated = (error as { next?: string }).next;
    throw new CliError("The server could not start", {
      why: messageOf(error),
      next:
        stated ?? (inUse ? "Stop the program that uses the port, or choose another with --port" : "millrace doctor"),
      cause: error,
    });
  }
  return 0;
};

export const handlers: HandlersOf<"serve"> = { serve };
