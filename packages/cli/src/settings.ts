/**
 * Finds the server, the token and the team in the same places as the `datachain` client. The first place that sets a
 * value wins: flag, environment variable, the settings files of the project (.datachain/config), of the user and of the
 * system, and last the variables that a job gets. No other file reads environment variables or the client's settings
 * files.
 */
import { chmodSync, mkdirSync, readFileSync, realpathSync, renameSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { CliError, exitCodes, messageOf } from "./errors.ts";
import type { StudioChanges } from "./studio-table.ts";

export const defaultUrl = "http://127.0.0.1:8484";

/** The environment and folders to read settings from; tests pass their own. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly platform: NodeJS.Platform;
}
const here = (): Surroundings => ({ env: process.env, cwd: process.cwd(), platform: process.platform });

/** A value and its source: a flag, a variable or a file. */
interface Setting {
  readonly value: string;
  readonly source: string;
}
export interface Settings {
  readonly url: Setting;
  readonly token?: Setting | undefined;
  readonly team?: Setting | undefined;
  /** A token that is not sent to this server, because only the project's file names the server. */
  readonly withheld?: Setting | undefined;
}
export interface SettingsFlags {
  readonly url?: string | undefined;
  readonly team?: string | undefined;
}

export type Level = "local" | "global" | "system";
const levels: readonly Level[] = ["local", "global", "system"];
type Key = "url" | "token" | "team";
type StoredSettings = { readonly [K in Key]?: string };

/**
 * Reads the settings from flags, environment variables and the settings files in `among`, by default all three files.
 */
export async function readSettings(flags: SettingsFlags = {}, from = here(), among = levels): Promise<Settings> {
  const stored: { path: string; values: StoredSettings }[] = [];
  for (const level of among) {
    const path = settingsFile(level, from);
    stored.push({ path, values: await readStudioTable(path) });
  }
  const find = (key: Key, flag?: string): Setting | undefined => {
    if (flag) return { value: flag, source: `--${key}` };
    const variable = `DATACHAIN_STUDIO_${key.toUpperCase()}`;
    const value = from.env[variable];
    if (value) return { value, source: variable };
    const file = stored.find(({ values }) => values[key]);
    return file && { value: file.values[key] as string, source: file.path };
  };
  const found = { url: find("url", flags.url), token: find("token"), team: find("team", flags.team) };
  const { url, token } = found.url || found.token ? found : ownOfJob(from);
  const server = checkedUrl(url ?? { value: defaultUrl, source: "default" });
  const ofToken = stored.find(({ path }) => path === token?.source)?.values;
  if (token && server.source === settingsFile("local", from) && !isFor(ofToken, server.value))
    return { url: server, team: found.team, withheld: token };
  return { url: server, token, team: found.team };
}

/**
 * Whether the settings file of a token names this server. Anybody can put the address of a server into the file of a
 * project that others clone, so their tokens do not go there unless they say so themselves.
 */
const isFor = (ofToken: StoredSettings | undefined, server: string) =>
  ofToken?.url !== undefined && URL.parse(ofToken.url)?.origin === URL.parse(server)?.origin;

/** Says why there is no token for the server. */
export function missingToken({ url, withheld }: Settings): CliError {
  if (withheld)
    return new CliError(`Your token was not sent to ${url.value}`, {
      why: `Only the settings of this project, ${url.source}, name that server. The token in ${withheld.source} was not made for it`,
      next: `If you trust that server, run millrace auth login --local, or add --url ${url.value} to the command`,
      exitCode: exitCodes.signInNeeded,
    });
  return new CliError("You are not signed in", {
    why: `There is no token for ${url.value} in the settings or in DATACHAIN_STUDIO_TOKEN`,
    next: "millrace auth login",
    exitCode: exitCodes.signInNeeded,
  });
}

/**
 * Returns the settings from the variables that a job gets: the URL of the server that runs the job, and the job's
 * token. If one of them is missing, returns neither, because the token is valid only for this server.
 */
function ownOfJob({ env }: Surroundings): Partial<Settings> {
  const { MILLRACE_URL: url, MILLRACE_TOKEN: token } = env;
  if (!url || !token) return {};
  return { url: { value: url, source: "MILLRACE_URL" }, token: { value: token, source: "MILLRACE_TOKEN" } };
}

/** Reads the settings from one settings file only, without flags and environment variables. */
export const readStoredSettings = (level: Level, from = here()) => readStudioTable(settingsFile(level, from));

/**
 * Stores settings in a settings file, which the `datachain` client reads, too. Other users cannot read the file.
 * Returns its path.
 */
export async function storeSettings(level: Level, changes: StudioChanges, from = here()): Promise<string> {
  const path = settingsFile(level, from);
  const { editStudioTable } = await import("./studio-table.ts");
  const text = editStudioTable(readText(path) ?? "", changes);
  try {
    mkdirSync(dirname(path), { recursive: true });
    replaceFile(path, text);
  } catch (error) {
    throw new CliError(`Could not write ${path}`, { why: messageOf(error), cause: error });
  }
  return path;
}

export function settingsFile(level: Level, from = here()): string {
  return join(settingsFolder(level, from), "config");
}

function settingsFolder(level: Level, { env, cwd, platform }: Surroundings): string {
  if (level === "local")
    return resolve(cwd, env["DATACHAIN_DIR"] ?? join(env["DATACHAIN_ROOT_DIR"] ?? "", ".datachain"));
  if (level === "global") {
    const given = env["DATACHAIN_GLOBAL_CONFIG_DIR"];
    return given ? resolve(cwd, given) : join(userConfigFolder(env, platform), "datachain");
  }
  const given = env["DATACHAIN_SYSTEM_CONFIG_DIR"];
  return given ? resolve(cwd, given) : join(systemConfigFolder(env, platform), "datachain");
}

/**
 * Returns the folder of the user's settings. It is the folder that the `datachain` client gets from the Python package
 * platformdirs. Relative paths in XDG variables are ignored.
 */
function userConfigFolder(env: Surroundings["env"], platform: NodeJS.Platform): string {
  const xdg = env["XDG_CONFIG_HOME"] ?? "";
  if (isAbsolute(xdg)) return xdg;
  return join(homeFolder(env), platform === "darwin" ? "Library/Application Support" : ".config");
}

function systemConfigFolder(env: Surroundings["env"], platform: NodeJS.Platform): string {
  const xdg = (env["XDG_CONFIG_DIRS"] ?? "").split(":").find((folder) => isAbsolute(folder));
  return xdg ?? (platform === "darwin" ? "/Library/Application Support" : "/etc/xdg");
}

function homeFolder(env: Surroundings["env"]): string {
  const home = env["HOME"] ?? "";
  return isAbsolute(home) ? home : userInfo().homedir;
}

async function readStudioTable(path: string): Promise<StoredSettings> {
  const text = readText(path);
  if (text === undefined) return {};
  const { parse } = await import("smol-toml");
  try {
    const studio = parse(text)["studio"];
    const entries = Object.entries((studio ?? {}) as Record<string, unknown>);
    return Object.fromEntries(entries.map(([key, value]) => [key, String(value)]));
  } catch (error) {
    throw new CliError(`The settings in ${path} cannot be read`, {
      why: messageOf(error).split("\n")[0],
      next: "Correct the file, or delete it and sign in again",
    });
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CliError(`The settings in ${path} cannot be read`, { why: messageOf(error), cause: error });
  }
}

/**
 * Replaces the file atomically. Other users cannot read the new content at any time. If `path` is a symbolic link, the
 * file that it points to is replaced.
 */
function replaceFile(path: string, text: string): void {
  const target = readText(path) === undefined ? path : realpathSync(path);
  const draft = `${target}.${process.pid}.new`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, target);
}

function checkedUrl(setting: Setting): Setting {
  if (/^https?:$/.test(URL.parse(setting.value)?.protocol ?? "")) {
    return { ...setting, value: setting.value.replace(/\/+$/, "") };
  }
  throw new CliError(`'${setting.value}' is not the address of a server`, {
    why: `The address in ${setting.source} must begin with http:// or https://`,
    next: `Use an address such as ${defaultUrl}`,
    exitCode: exitCodes.usage,
  });
}

/** Tells whether to use colors. The variable NO_COLOR (no-color.org) or a terminal without colors turns them off. */
export const wantsColor = ({ env } = here()) => !env["NO_COLOR"] && env["TERM"] !== "dumb";

/** Returns the program that opens a web page; undefined if there is no display. */
export function browserProgram({ env, platform } = here()): string | undefined {
  if (platform === "darwin") return "open";
  return env["DISPLAY"] || env["WAYLAND_DISPLAY"] ? "xdg-open" : undefined;
}
