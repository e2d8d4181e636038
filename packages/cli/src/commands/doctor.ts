/** `millrace doctor`: checks this machine, the server and the settings, and prints the configuration. */
import { ApiError, routes } from "@millrace/contract";
import { openConnection, UnreachableError } from "../connection.ts";
import { messageOf } from "../errors.ts";
import type { Column, Output, Style } from "../output.ts";
import { loadServer, type Server, serverConfig } from "../server.ts";
import { missingToken, readSettings, type Settings } from "../settings.ts";
import type { Handler, HandlersOf } from "./handler.ts";

type Finding = Awaited<ReturnType<Server["diagnose"]>>[number];
type ConfigRow = ReturnType<Server["configRows"]>[number];
type SettingRow = { name: string; value: string; source: string };

const doctor: Handler<"doctor"> = async ({ flags }, output) => {
  const settings = await readSettings({ url: flags.url });
  const server = await loadServer();
  const config = serverConfig(server, flags);
  const findings = [...(await server.diagnose(config)), ...(await diagnoseConnection(settings))];
  const configuration = server.configRows(config);
  if (flags.json) output.json({ findings, configuration, settings: settingRows(settings) });
  else printReport(findings, configuration, settingRows(settings), output);
  return findings.some(({ level }) => level === "error") ? 1 : 0;
};

/** Checks whether the server answers and accepts the token. */
async function diagnoseConnection(settings: Settings): Promise<Finding[]> {
  const { client } = openConnection(settings);
  const url = settings.url.value;
  try {
    await client.call(routes.readyz, {});
  } catch (error) {
    const message = error instanceof UnreachableError ? error.message : `${url}: ${messageOf(error)}`;
    return [{ level: "warn", topic: "server", message, next: "millrace serve" }];
  }
  const reached: Finding = { level: "ok", topic: "server", message: `${url} is ready` };
  if (!settings.token) {
    const { message, next } = missingToken(settings);
    const plain = { message: "not signed in", next: "millrace auth login" };
    return [
      reached,
      { level: "warn", topic: "sign-in", ...(settings.withheld ? { message, next: next ?? "" } : plain) },
    ];
  }
  try {
    const { username, teams } = await client.call(routes.whoAmI, {});
    const names = teams.map(({ name, role }) => `${name} (${role})`).join(", ");
    return [
      reached,
      { level: "ok", topic: "sign-in", message: `${username}, teams: ${names || "none"}` },
      ...team(settings, teams),
    ];
  } catch (error) {
    const next = error instanceof ApiError && error.code === "unauthorized" ? { next: "millrace auth login" } : {};
    return [reached, { level: "error", topic: "sign-in", message: messageOf(error), ...next }];
  }
}

function team(settings: Settings, teams: readonly { name: string }[]): Finding[] {
  const chosen = settings.team;
  if (!chosen || teams.some(({ name }) => name === chosen.value)) return [];
  const message = `'${chosen.value}' from ${chosen.source} is not one of your teams`;
  return [{ level: "error", topic: "team", message, next: "millrace auth team NAME" }];
}

function settingRows(settings: Settings): SettingRow[] {
  const { url, token, team } = settings;
  return [
    { name: "url", ...url },
    token ? { name: "token", value: `${token.value.slice(0, 9)}…`, source: token.source } : unset("token"),
    team ? { name: "team", ...team } : unset("team"),
  ];
}
const unset = (name: string): SettingRow => ({ name, value: "", source: "default" });

const levelStyles: Record<Finding["level"], Style> = { ok: "green", warn: "yellow", error: "red" };

const findingColumns: Column<Finding>[] = [
  { title: "LEVEL", full: ({ level }) => level, style: ({ level }) => levelStyles[level] },
  { title: "TOPIC", full: ({ topic }) => topic },
  { title: "FINDING", full: ({ message }) => message },
  { title: "NEXT", full: ({ next }) => next ?? "" },
];

const configColumns: Column<ConfigRow>[] = [
  { title: "SETTING", full: ({ name }) => name },
  { title: "VALUE", full: ({ value }) => value },
  { title: "SOURCE", full: ({ source }) => source },
  { title: "FLAG", full: ({ flag }) => flag ?? "" },
  { title: "VARIABLE", full: ({ env }) => env },
  { title: "MEANING", full: ({ description }) => description, shrinks: true },
];

const settingColumns: Column<SettingRow>[] = [
  { title: "CLIENT", full: ({ name }) => name },
  { title: "VALUE", full: ({ value }) => value },
  { title: "SOURCE", full: ({ source }) => source },
];

function printReport(findings: Finding[], configuration: ConfigRow[], settings: SettingRow[], output: Output): void {
  output.table(findingColumns, findings);
  output.print("");
  output.table(configColumns, configuration);
  output.print("");
  output.table(settingColumns, settings);
}

export const handlers: HandlersOf<"doctor"> = { doctor };
