/** `millrace auth`: signs in and out, manages the token and the team, and approves logins of other machines. */
import { setTimeout as delay } from "node:timers/promises";
import type { Connection } from "../connection.ts";
import { CliError, exitCodes, usageError } from "../errors.ts";
import type { Output } from "../output.ts";
import {
  type Level,
  missingToken,
  readSettings,
  readStoredSettings,
  type Settings,
  settingsFile,
  storeSettings,
} from "../settings.ts";
import type { Handler, HandlersOf } from "./handler.ts";

/** Default number of days until a token expires. */
const defaultLifeDays = 365;
const level = (flags: { local: boolean }): Level => (flags.local ? "local" : "global");

const login: Handler<"auth login"> = async ({ flags }, output) => {
  const { openConnection } = await import("../connection.ts");
  const settings = await readSettings({ url: flags.url ?? flags.hostname });
  const { url } = settings;
  if (!flags.local) refuseServerOfProject(url);
  await refuseSecondLogin(url.value, level(flags));
  const token = await deviceLogin(openConnection({ url }), flags, output);
  const team = await defaultTeam(openConnection({ url, token: { value: token, source: "login" } }), flags.team);
  const path = await storeSettings(level(flags), { url: url.value, token, team });
  output.print(`Signed in. The token is in ${path}`);
  output.note(team ? `The default team is '${team}'` : "Choose your default team: millrace auth team NAME");
  if (settings.token?.source.startsWith("DATACHAIN_")) {
    output.note(`${settings.token.source} is set and overrides the stored token`, "yellow");
  }
  return 0;
};

/**
 * Throws if only the settings of the project name the server. A sign-in would make it the user's server everywhere, and
 * whoever has cloned the project does not know which server it names.
 */
function refuseServerOfProject({ value, source }: Settings["url"]): void {
  if (source !== settingsFile("local")) return;
  throw new CliError(`Only the settings of this project name the server ${value}`, {
    why: `A sign-in without --local would make it your server everywhere. Its address is in ${source}`,
    next: `millrace auth login --local, or millrace auth login --url ${value} for all projects`,
  });
}

/**
 * Throws if there is already a working login to the same server, because the token of that login would stay valid
 * although nobody uses it. A stored token that no longer works is replaced.
 */
async function refuseSecondLogin(url: string, level: Level): Promise<void> {
  const stored = await readStoredSettings(level);
  if (!stored.token || (stored.url ?? url).replace(/\/+$/, "") !== url) return;
  const { openConnection } = await import("../connection.ts");
  const { ApiError, routes } = await import("@millrace/contract");
  const token = { value: stored.token, source: settingsFile(level) };
  try {
    const { username } = await openConnection({ url: { value: url, source: "" }, token }).client.call(
      routes.whoAmI,
      {},
    );
    throw new CliError(`You are already signed in as ${username}`, {
      why: `The token in ${token.source} is valid at ${url}`,
      next: "millrace auth logout",
    });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "unauthorized")) throw error;
  }
}

interface LoginWishes {
  readonly name: string | undefined;
  readonly scopes: string | undefined;
  readonly team: readonly string[];
  readonly "expires-in": number | undefined;
  readonly "no-open": boolean;
}

async function deviceLogin({ client }: Connection, wishes: LoginWishes, output: Output): Promise<string> {
  const { routes } = await import("@millrace/contract");
  const scopes = wishes.scopes?.split(",").map((scope) => scope.trim());
  const login = await client.call(routes.startDeviceLogin, {
    body: {
      client_name: "Millrace",
      expires_in_days: wishes["expires-in"] ?? defaultLifeDays,
      ...(wishes.name ? { token_name: wishes.name } : {}),
      ...(scopes ? { scopes } : {}),
      ...(wishes.team.length > 0 ? { team_names: [...wishes.team] } : {}),
    },
  });
  const page = `${login.verification_uri}?code=${encodeURIComponent(login.user_code)}`;
  output.print(`Open ${page}\nand confirm the code ${login.user_code}`);
  output.print(`Without a browser, run this where you are signed in: millrace auth approve ${login.user_code}`);
  if (!wishes["no-open"] && /^https?:$/.test(URL.parse(page)?.protocol ?? "")) await openBrowser(page);
  output.progress("Waiting for the confirmation ...");
  return pollForToken(client, login.device_code);
}

/**
 * Polls until the login with this code is confirmed, and returns the token. The first poll is after one second, the
 * others follow every five seconds, as in the `datachain` client.
 */
async function pollForToken(client: Connection["client"], code: string): Promise<string> {
  const { ApiError, routes } = await import("@millrace/contract");
  for (let wait = 1000; ; wait = 5000) {
    await delay(wait);
    try {
      return (await client.call(routes.pollDeviceLogin, { body: { code } })).access_token;
    } catch (error) {
      const answer = error instanceof ApiError ? error.code : undefined;
      if (answer === "authorization_pending" || answer === "too_many_requests") continue;
      if (answer !== "authorization_denied" && answer !== "authorization_expired") throw error;
      throw new CliError("The sign-in failed", {
        why: answer === "authorization_denied" ? "The request was denied" : "The code expired before it was confirmed",
        next: "millrace auth login",
      });
    }
  }
}

async function openBrowser(page: string): Promise<void> {
  const { browserProgram } = await import("../settings.ts");
  const program = browserProgram();
  if (!program) return;
  const { spawn } = await import("node:child_process");
  const child = spawn(program, [page], { detached: true, stdio: "ignore" });
  // If no browser opens, that is not an error: the terminal shows the address, too.
  child.on("error", () => {});
  child.unref();
}

/**
 * Returns the team to store as the default. If one team was requested, this is that team; if several were requested,
 * null. If no team was requested, this is the user's only team; if the user has no team or several teams, null.
 */
async function defaultTeam({ client }: Connection, wanted: readonly string[]): Promise<string | null> {
  if (wanted.length > 0) return wanted.length === 1 ? (wanted[0] ?? null) : null;
  const { routes } = await import("@millrace/contract");
  const { teams } = await client.call(routes.whoAmI, {});
  return teams.length === 1 ? (teams[0]?.name ?? null) : null;
}

const logout: Handler<"auth logout"> = async ({ flags }, output) => {
  const stored = await readStoredSettings(level(flags));
  if (!stored.token) throw notSignedIn();
  const { openConnection } = await import("../connection.ts");
  const { ApiError, routes } = await import("@millrace/contract");
  const { url } = await readSettings({ url: flags.url }, undefined, [level(flags)]);
  const token = { value: stored.token, source: settingsFile(level(flags)) };
  try {
    await openConnection({ url, token }).client.call(routes.deviceLogout, {});
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "unauthorized")) throw error;
    output.note("The server had already revoked the token, or never knew it");
  }
  const path = await storeSettings(level(flags), { token: null, team: null });
  output.print(`Signed out. Removed the token from ${path}`);
  return 0;
};

const token: Handler<"auth token"> = async (_input, output) => {
  const settings = await readSettings();
  if (!settings.token) throw settings.withheld ? missingToken(settings) : notSignedIn();
  output.print(settings.token.value);
  return 0;
};

const team: Handler<"auth team"> = async ({ flags, arguments: { NAME: name } }, output) => {
  if (name !== undefined) {
    if (name.trim() === "") throw usageError("The name of the team is empty", { next: "millrace auth team --help" });
    await refuseForeignTeam(name);
    const path = await storeSettings(level(flags), { team: name });
    output.note(`The default team is '${name}', from ${path}`);
    return 0;
  }
  const settings = await readSettings();
  if (!settings.team) throw new CliError("There is no default team", { next: "millrace auth team NAME" });
  output.print(settings.team.value);
  return 0;
};

/**
 * Throws if the user is not a member of the team, because later commands would fail. If this cannot be checked, because
 * the user is not signed in or the server does not answer, the name is accepted.
 */
async function refuseForeignTeam(name: string): Promise<void> {
  const settings = await readSettings();
  if (!settings.token) return;
  const { openConnection, UnreachableError } = await import("../connection.ts");
  const { ApiError, routes } = await import("@millrace/contract");
  try {
    const { teams } = await openConnection(settings).client.call(routes.whoAmI, {});
    if (teams.some((team) => team.name === name)) return;
    const names = teams.map((team) => team.name).join(", ");
    throw new CliError(`You are not a member of a team named '${name}'`, {
      why: names
        ? `Your teams at ${settings.url.value}: ${names}`
        : `You are not a member of any team at ${settings.url.value}`,
      next: "millrace team ls",
    });
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof UnreachableError)) throw error;
  }
}

const status: Handler<"auth status"> = async ({ flags }, output) => {
  const { connect } = await import("../connection.ts");
  const { routes } = await import("@millrace/contract");
  const { client, settings } = await connect(flags);
  const me = await client.call(routes.whoAmI, {});
  const { url, token, team } = settings;
  if (flags.json) {
    output.json({ url: url.value, team: team?.value ?? null, token_source: token?.source ?? null, ...me });
    return 0;
  }
  const role = me.teams.find(({ name }) => name === team?.value)?.role;
  const name = [me.first_name, me.last_name].filter((word) => word !== "").join(" ");
  output.fields([
    ["server", `${url.value} (${url.source})`],
    ["user", `${me.username}${name ? `, ${name}` : ""}${me.is_admin ? ", an administrator of the server" : ""}`],
    ["team", team ? `${team.value} (${team.source})${role ? `, as ${role}` : ", but you are not a member"}` : "none"],
    ["teams", me.teams.map((each) => `${each.name} (${each.role})`).join(", ") || "none"],
    ["token", `${me.token_name} (${token?.source})`],
    ["scopes", me.scopes.join(", ")],
    ["expires", me.expires_at ?? "never"],
  ]);
  return 0;
};

const approve: Handler<"auth approve"> = ({ flags, arguments: { CODE: code } }, output) =>
  answer("approveDeviceLogin", code, flags.url, output);

const deny: Handler<"auth deny"> = ({ flags, arguments: { CODE: code } }, output) =>
  answer("denyDeviceLogin", code, flags.url, output);

async function answer(
  route: "approveDeviceLogin" | "denyDeviceLogin",
  code: string,
  url: string | undefined,
  output: Output,
): Promise<number> {
  const { connect } = await import("../connection.ts");
  const { routes } = await import("@millrace/contract");
  const { client } = await connect({ url });
  output.print((await client.call(routes[route], { body: { user_code: code.trim() } })).message);
  return 0;
}

const notSignedIn = () =>
  new CliError("You are not signed in", { next: "millrace auth login", exitCode: exitCodes.signInNeeded });

export const handlers: HandlersOf<"auth"> = {
  "auth login": login,
  "auth logout": logout,
  "auth token": token,
  "auth team": team,
  "auth status": status,
  "auth approve": approve,
  "auth deny": deny,
};
