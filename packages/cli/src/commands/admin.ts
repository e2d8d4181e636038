/** `millrace admin`: works on the store itself, for whoever may read the data folder. */
import { loadServer, serverConfig } from "../server.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const token: Handler<"admin token"> = async ({ flags }, output) => {
  const server = await loadServer();
  const scopes = flags.scopes?.split(",").map((scope) => scope.trim());
  const days = flags["expires-in"];
  const text = await server.adminToken(serverConfig(server, flags), {
    ...(flags.user ? { user: flags.user } : {}),
    ...(flags.team ? { team: flags.team } : {}),
    ...(scopes ? { scopes } : {}),
    ...(days === undefined ? {} : { expiresInDays: days }),
  });
  output.print(text);
  return 0;
};

const link: Handler<"admin link"> = async ({ flags }, output) => {
  const server = await loadServer();
  output.print(await server.adminLink(serverConfig(server, flags), flags.user ? { user: flags.user } : {}));
  return 0;
};

export const handlers: HandlersOf<"admin"> = { "admin token": token, "admin link": link };
