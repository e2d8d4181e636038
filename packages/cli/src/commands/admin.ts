/** `millrace admin`: works on the store itself, for whoever may read the data folder. */
import { CliError, messageOf } from "../errors.ts";
import { loadServer, serverConfig } from "../server.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const token: Handler<"admin token"> = async ({ flags }, output) => {
  const server = await loadServer();
  const config = serverConfig(server, flags);
  const scopes = flags.scopes?.split(",").map((scope) => scope.trim());
  const days = flags["expires-in"];
  const options = {
    ...(flags.user ? { user: flags.user } : {}),
    ...(flags.team ? { team: flags.team } : {}),
    ...(scopes ? { scopes } : {}),
    ...(days === undefined ? {} : { expiresInDays: days }),
  };
  output.print(await server.adminToken(config, options).catch(refuse("token")));
  return 0;
};

const link: Handler<"admin link"> = async ({ flags }, output) => {
  const server = await loadServer();
  const config = serverConfig(server, flags);
  output.print(await server.adminLink(config, flags.user ? { user: flags.user } : {}).catch(refuse("link")));
  return 0;
};

const password: Handler<"admin password"> = async ({ flags }, output) => {
  const server = await loadServer();
  const config = serverConfig(server, flags);
  const user = flags.user ?? "admin";
  const { askNewPassword } = await import("../prompt.ts");
  const chosen = await askNewPassword(user);
  await server.adminPassword(config, { user, password: chosen }).catch(refuse("password"));
  output.print(`The password of ${user} is set`);
  return 0;
};

/** Told as what it is: no server has answered here. */
const refuse = (thing: "token" | "link" | "password") => (error: unknown) => {
  throw new CliError(`The ${thing} cannot be ${thing === "password" ? "set" : "made"}`, {
    why: messageOf(error),
    next: `millrace admin ${thing} --help`,
    cause: error,
  });
};

export const handlers: HandlersOf<"admin"> = { "admin token": token, "admin link": link, "admin password": password };
