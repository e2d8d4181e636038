/** `millrace admin`: works directly on the database, for anyone who has access to the data folder. */
import { CliError, messageOf } from "../errors.ts";
import { type Config, loadServer, type Rotation, serverConfig } from "../server.ts";
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
  output.print(`Set the password of ${user}`);
  return 0;
};

/**
 * Returns an error handler for the commands that create a token, a link or a password. These commands send no request,
 * so the error mentions no server.
 */
const refuse = (thing: "token" | "link" | "password") => (error: unknown) => {
  throw new CliError(`Could not ${thing === "password" ? "set" : "create"} the ${thing}`, {
    why: messageOf(error),
    next: `millrace admin ${thing} --help`,
    cause: error,
  });
};

const rotateKey: Handler<"admin rotate-key"> = async ({ flags }, output) => {
  const server = await loadServer();
  const config = serverConfig(server, flags);
  const rotation = await server.adminRotateKey(config).catch((error: unknown) => {
    throw new CliError("Could not rotate the key", {
      why: messageOf(error),
      next: "millrace admin rotate-key --help",
      cause: error,
    });
  });
  if (flags.json) output.json(rotation);
  else for (const line of tellRotation(rotation, isGiven(config))) output.print(line);
  return rotation.unreadable.length === 0 ? 0 : 1;
};

const isGiven = (config: Config) => config.keys.secretKey.length > 0;

function tellRotation(
  { keyId, changed, finished, waitsForJobs, unreadable, where }: Rotation,
  given: boolean,
): string[] {
  const lines = [`All readable values are encrypted with the key ${keyId} (${changed} re-encrypted)`];
  if (unreadable.length > 0) {
    lines.push(`No key decrypts these values, so the old keys are kept: ${unreadable.join(", ")}`);
  } else if (given) {
    lines.push(
      `Remove the old keys from ${where} once all jobs have ended that started before the server had the new key (running now: ${waitsForJobs})`,
    );
  } else if (finished) {
    lines.push(`Removed the old keys from ${where}`);
  } else {
    lines.push(
      waitsForJobs > 0
        ? `Kept the old keys in ${where} for ${waitsForJobs} running jobs that started before the new key existed: run this command again when they have ended`
        : `Kept the old keys in ${where}: a value was just encrypted with one of them; run this command again`,
    );
  }
  return lines;
}

export const handlers: HandlersOf<"admin"> = {
  "admin token": token,
  "admin link": link,
  "admin password": password,
  "admin rotate-key": rotateKey,
};
