/** `millrace team`: manages teams, their members, roles and invitations. */
import {
  type Client,
  type DatasetCopy,
  durationWords,
  type Invitation,
  type Member,
  type Role,
  routes,
  serviceRoles,
  type Team,
  usualRetryDelay,
} from "@millrace/contract";
import { type Connection, connect } from "../connection.ts";
import { CliError, usageError } from "../errors.ts";
import { readSeconds } from "../job/seconds.ts";
import { sizeText, sizeUnits } from "../job/view.ts";
import type { Column, Output } from "../output.ts";
import { closest } from "../parse.ts";
import type { SettingsFlags } from "../settings.ts";
import type { Handler, HandlersOf } from "./handler.ts";
import { tokenColumns } from "./token.ts";

const quotaText = (quota: number | null) => (quota === null ? "default" : String(quota));

const columns: Column<Team>[] = [
  { title: "NAME", full: (team) => team.name },
  { title: "YOUR ROLE", full: (team) => team.role ?? "-" },
  { title: "MEMBERS", full: (team) => String(team.members) },
  { title: "MAX RUNNING", full: (team) => quotaText(team.max_running) },
  { title: "MAX QUEUED", full: (team) => quotaText(team.max_queued) },
];

const memberColumns: Column<Member>[] = [
  { title: "NAME", full: (member) => member.username },
  { title: "ROLE", full: (member) => member.role },
  { title: "FIRST NAME", full: (member) => member.first_name, shrinks: true },
  { title: "LAST NAME", full: (member) => member.last_name, shrinks: true },
  { title: "STATE", full: memberState },
];

function memberState({ disabled, service_account }: Member): string {
  if (disabled) return "disabled";
  return service_account ? "service account" : "enabled";
}

const invitationColumns: Column<Invitation>[] = [
  { title: "ID", full: (invitation) => String(invitation.id) },
  { title: "ROLE", full: (invitation) => invitation.role },
  { title: "FOR", full: (invitation) => invitation.email || "anyone with the link", shrinks: true },
  { title: "BY", full: (invitation) => invitation.created_by },
  { title: "EXPIRES", full: (invitation) => invitation.expires_at, short: ({ expires_at }) => expires_at.slice(0, 10) },
];

/**
 * Connects to the server, and returns the connection and the team. The team is the one in the settings or, if none is
 * set, the user's only team. Throws if none is set and the user has no team or several teams.
 */
async function inTeam(flags: SettingsFlags): Promise<Connection & { params: { team_name: string } }> {
  const connection = await connect(flags);
  const set = connection.settings.team?.value;
  if (set) return { ...connection, params: { team_name: set } };
  const { teams } = await connection.client.call(routes.whoAmI, {});
  const [only] = teams;
  if (only && teams.length === 1) return { ...connection, params: { team_name: only.name } };
  throw new CliError("There is no default team", {
    why: only ? `Your teams: ${teams.map(({ name }) => name).join(", ")}` : "You are not a member of any team",
    next: only ? "millrace auth team NAME, or --team NAME" : "Ask an administrator to add you to a team",
  });
}

function readRole(text: string): Role {
  const roles = ["viewer", "editor", "admin"] as const;
  const found = roles.find((role) => role === text.toLowerCase());
  if (found) return found;
  const guess = closest(text.toLowerCase(), roles);
  throw usageError(`Unknown role '${text}'`, {
    why: guess ? `Did you mean ${guess}?` : "Expected viewer, editor or admin",
    next: "millrace team --help",
  });
}

function show(team: Team, json: boolean, output: Output): number {
  if (json) output.json(team);
  else
    output.fields([
      ["name", team.name],
      ["your role", team.role ?? "not a member"],
      ["members", String(team.members)],
      ["max_running", quotaText(team.max_running)],
      ["max_queued", quotaText(team.max_queued)],
      ["max_tasks", quotaText(team.max_tasks)],
      ["max_schedules", quotaText(team.max_schedules)],
      ["max_dataset_bytes", quotaText(team.max_dataset_bytes)],
      ["max_upload_bytes", quotaText(team.max_upload_bytes)],
      ["max_log_bytes", quotaText(team.max_log_bytes)],
      ["max_text_bytes", quotaText(team.max_text_bytes)],
      ["max_export_bytes", quotaText(team.max_export_bytes)],
      ["max_environment_bytes", quotaText(team.max_environment_bytes)],
      ["library_version", team.library_version ?? "default"],
      ["job_timeout", team.job_timeout === null ? "none" : durationWords(team.job_timeout)],
      ["job_retries", String(team.job_retries ?? 0)],
      ["job_retry_delay", durationWords(team.job_retry_delay ?? usualRetryDelay)],
      ["created_at", team.created_at],
    ]);
  return 0;
}

interface QuotaFlags {
  readonly "max-running": number | undefined;
  readonly "max-queued": number | undefined;
  readonly "max-tasks": number | undefined;
  readonly "max-schedules": number | undefined;
  readonly "max-datasets": string | undefined;
  readonly "max-uploads": string | undefined;
  readonly "max-logs": string | undefined;
  readonly "max-texts": string | undefined;
  readonly "max-exports": string | undefined;
  readonly "max-environments": string | undefined;
}

/** Parses a size such as 500MiB, 1GiB or 0, and returns it in bytes. */
function readSize(flag: string, text: string): number {
  const match = /^(\d+)\s*(B|KiB|MiB|GiB|TiB)?$/.exec(text);
  const bytes = Number(match?.[1]) * 1024 ** sizeUnits.indexOf(match?.[2] ?? "B");
  if (Number.isSafeInteger(bytes)) return bytes;
  throw usageError(`--${flag}: '${text}' is not a size`, {
    why: "Expected a number with a unit, such as 500MiB or 200GiB",
    next: "millrace team set --help",
  });
}

type SizeFlag = "max-datasets" | "max-uploads" | "max-logs" | "max-texts" | "max-exports" | "max-environments";

const sizeOf = <Field extends string>(flags: QuotaFlags, flag: SizeFlag, field: Field): { [F in Field]?: number } => {
  const text = flags[flag];
  return text === undefined ? {} : ({ [field]: readSize(flag, text) } as { [F in Field]?: number });
};

const quotasOf = (flags: QuotaFlags) => ({
  ...(flags["max-running"] === undefined ? {} : { max_running: flags["max-running"] }),
  ...(flags["max-queued"] === undefined ? {} : { max_queued: flags["max-queued"] }),
  ...(flags["max-tasks"] === undefined ? {} : { max_tasks: flags["max-tasks"] }),
  ...(flags["max-schedules"] === undefined ? {} : { max_schedules: flags["max-schedules"] }),
  ...sizeOf(flags, "max-datasets", "max_dataset_bytes"),
  ...sizeOf(flags, "max-uploads", "max_upload_bytes"),
  ...sizeOf(flags, "max-logs", "max_log_bytes"),
  ...sizeOf(flags, "max-texts", "max_text_bytes"),
  ...sizeOf(flags, "max-exports", "max_export_bytes"),
  ...sizeOf(flags, "max-environments", "max_environment_bytes"),
});

const add: Handler<"team add"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect({ url: flags.url });
  const body = { name, ...(flags.admin ? { admin: flags.admin } : {}), ...quotasOf(flags) };
  const team = await client.call(routes.createTeam, { body });
  if (flags.json) return show(team, true, output);
  output.print(`Created team ${name}`);
  output.note(`Add members: millrace team add-member USER --team ${name}, or millrace team invite --team ${name}`);
  return 0;
};

const ls: Handler<"team ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const teams = await client.call(routes.listTeams, {});
  if (flags.json) output.json(teams);
  else if (teams.length === 0) output.note("You are not a member of any team. Ask an administrator to add you to one.");
  else output.table(columns, teams);
  return 0;
};

const showOne: Handler<"team show"> = async ({ flags }, output) => {
  const { client, params } = await inTeam(flags);
  return show(await client.call(routes.getTeam, { params }), flags.json, output);
};

const usage: Handler<"team usage"> = async ({ flags }, output) => {
  const { client, params } = await inTeam(flags);
  const found = await client.call(routes.getTeamUsage, { params });
  if (flags.json) output.json(found);
  else
    output.fields(
      Object.entries(found).map(([kind, { bytes, quota }]) => [
        kind,
        `${sizeText(bytes)} of ${quota === null ? "no limit" : sizeText(quota)}`,
      ]),
    );
  return 0;
};

/**
 * Asks for confirmation if the new quota for logs is below the current size of the logs, because the oldest logs would
 * be deleted. If the quota is 0, the server's default will apply. This function does not know the default, so it does
 * not ask.
 */
async function askToCutLogs(client: Client, params: { team_name: string }, quota: number | undefined): Promise<void> {
  if (!quota) return;
  const { logs } = await client.call(routes.getTeamUsage, { params });
  if (logs.bytes <= quota) return;
  const { askToProceed } = await import("../prompt.ts");
  const over = `The team has ${sizeText(logs.bytes)} of logs: the oldest will be removed until ${sizeText(quota)} remain`;
  await askToProceed(`${over}.`);
}

function retriesOf(flags: Parameters<Handler<"team set">>[0]["flags"]) {
  const given = {
    job_timeout: readSeconds("job-timeout", flags["job-timeout"]),
    job_retries: flags["job-retries"],
    job_retry_delay: readSeconds("job-retry-delay", flags["job-retry-delay"]),
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

const set: Handler<"team set"> = async ({ flags }, output) => {
  const version = flags["library-version"];
  const body = {
    ...(flags.name ? { name: flags.name } : {}),
    ...(version === undefined ? {} : { library_version: version }),
    ...retriesOf(flags),
    ...quotasOf(flags),
  };
  if (Object.keys(body).length === 0)
    throw usageError("There is nothing to change: give at least one flag", { next: "millrace team set --help" });
  const { client, params } = await inTeam(flags);
  if (!flags.yes) await askToCutLogs(client, params, quotasOf(flags).max_log_bytes);
  return show(await client.call(routes.updateTeam, { params, body }), flags.json, output);
};

const members: Handler<"team members"> = async ({ flags }, output) => {
  const { client, params } = await inTeam(flags);
  const list = await client.call(routes.listMembers, { params });
  if (flags.json) output.json(list);
  else output.table(memberColumns, list);
  return 0;
};

const addMember: Handler<"team add-member"> = async ({ flags, arguments: { USER: username } }, output) => {
  const role = readRole(flags.role ?? "editor");
  const { client, params } = await inTeam(flags);
  const member = await client.call(routes.addMember, { params, body: { username, role } });
  if (flags.json) output.json(member);
  else output.print(`Added ${username} to team ${params.team_name} as ${role}`);
  return 0;
};

const setRole: Handler<"team set-role"> = async ({ flags, arguments: { USER: username, ROLE } }, output) => {
  const role = readRole(ROLE);
  const { client, params } = await inTeam(flags);
  const member = await client.call(routes.updateMember, { params: { ...params, username }, body: { role } });
  if (flags.json) output.json(member);
  else output.print(`${username} is now ${role} in team ${params.team_name}`);
  return 0;
};

const removeMember: Handler<"team remove-member"> = async ({ flags, arguments: { USER: username } }, output) => {
  const { client, params } = await inTeam(flags);
  const member = { ...params, username };
  const { agreeToLeave, transferOf } = await import("../team/leaving.ts");
  const to = flags["transfer-to"];
  const query = to === undefined ? {} : { transfer_to: to };
  const work = await client.call(routes.getMemberWork, { params: member, query });
  if (!(await agreeToLeave(username, work, flags, output))) return 0;
  output.print((await client.call(routes.removeMember, { params: member, query: transferOf(flags) })).message);
  return 0;
};

const addServiceAccount: Handler<"team add-service-account"> = async ({ flags }, output) => {
  const { name, role } = flags;
  const found = serviceRoles.find((one) => one === role?.toLowerCase());
  if (role !== undefined && !found)
    throw usageError(`A service account cannot have the role '${role}'`, {
      why: `Expected ${serviceRoles.join(" or ")}`,
    });
  const { client, params } = await inTeam(flags);
  const body = { ...(name ? { account_name: name } : {}), ...(found ? { role: found } : {}) };
  const member = await client.call(routes.createServiceAccount, { params, body });
  if (flags.json) output.json(member);
  else {
    output.print(`Created service account ${member.username} of the team ${params.team_name}`);
    output.note(`Let a schedule run as the service account: millrace schedule update NAME --owner ${member.username}`);
  }
  return 0;
};

const serviceTokens: Handler<"team service-tokens"> = async ({ flags }, output) => {
  const { client, params } = await inTeam(flags);
  const tokens = await client.call(routes.listServiceTokens, { params });
  if (flags.json) output.json(tokens);
  else if (tokens.length === 0) output.note("No tokens found. Create one: millrace team create-service-token NAME");
  else output.table(tokenColumns, tokens);
  return 0;
};

const createServiceToken: Handler<"team create-service-token"> = async (
  { flags, arguments: { NAME: token_name } },
  output,
) => {
  const { client, params } = await inTeam(flags);
  const scopes = flags.scopes?.split(",").map((scope) => scope.trim());
  const days = flags["expires-in"];
  const body = { token_name, ...(scopes ? { scopes } : {}), ...(days === undefined ? {} : { expires_in_days: days }) };
  const token = await client.call(routes.createServiceToken, { params, body });
  if (flags.json) output.json(token);
  else {
    output.print(token.access_token);
    output.note(`Token ${token.id} of ${token.username} is not shown again; it expires ${token.expires_at ?? "never"}`);
  }
  return 0;
};

const revokeServiceToken: Handler<"team revoke-service-token"> = async ({ flags, arguments: { ID } }, output) => {
  const { client, params } = await inTeam(flags);
  const answer = await client.call(routes.revokeServiceToken, { params: { ...params, service_token_id: ID } });
  output.print(answer.message);
  return 0;
};

const invite: Handler<"team invite"> = async ({ flags }, output) => {
  const days = flags["expires-in"];
  const body = {
    role: readRole(flags.role ?? "editor"),
    ...(flags.email ? { email: flags.email } : {}),
    ...(days === undefined ? {} : { expires_in_days: days }),
  };
  const { client, params } = await inTeam(flags);
  const invitation = await client.call(routes.createInvitation, { params, body });
  if (flags.json) output.json(invitation);
  else {
    output.print(invitation.url);
    output.note(`Give this link to one person: it works once, until ${invitation.expires_at}, and is not shown again`);
  }
  return 0;
};

const invitations: Handler<"team invitations"> = async ({ flags }, output) => {
  const { client, params } = await inTeam(flags);
  const list = await client.call(routes.listInvitations, { params });
  if (flags.json) output.json(list);
  else if (list.length === 0) output.note("No open invitations. Create one: millrace team invite");
  else output.table(invitationColumns, list);
  return 0;
};

const revoke: Handler<"team revoke-invitation"> = async ({ flags, arguments: { ID: invitation_id } }, output) => {
  const { client, params } = await inTeam(flags);
  output.print((await client.call(routes.revokeInvitation, { params: { ...params, invitation_id } })).message);
  return 0;
};

const copyColumns: Column<DatasetCopy>[] = [
  { title: "TAKEN", full: ({ created_at }) => created_at },
  { title: "KIND", full: ({ kind }) => kind },
];

const copies: Handler<"team dataset-copies"> = async ({ flags }, output) => {
  const { client, params } = await inTeam(flags);
  const list = await client.call(routes.listDatasetCopies, { params });
  if (flags.json) output.json(list);
  else if (list.length === 0)
    output.note("No copies yet: a copy is taken on every day on which the team's datasets change");
  else output.table(copyColumns, list);
  return 0;
};

const restoreDatasets: Handler<"team restore-datasets"> = async ({ flags }, output) => {
  const { client, params } = await inTeam(flags);
  const { chooseCopy, versionsSince, whatWillGo } = await import("../team/dataset-copies.ts");
  const copy = chooseCopy(await client.call(routes.listDatasetCopies, { params }), flags.copy);
  const gone = await versionsSince(client, copy);
  const said = whatWillGo(params.team_name, copy, gone);
  if (flags["dry-run"]) {
    if (flags.json) output.json({ dry_run: true, copy, gone });
    else output.print(said);
    return 0;
  }
  if (flags.yes) output.note(said);
  else {
    const { askToProceed } = await import("../prompt.ts");
    await askToProceed(said, { hasDryRun: true });
  }
  // Restore the copy that the user confirmed, even if a newer copy exists now.
  const { message } = await client.call(routes.restoreDatasetCopy, { params, body: { created_at: copy.created_at } });
  if (flags.json) output.json({ message });
  else output.print(message);
  return 0;
};

export const handlers: HandlersOf<"team"> = {
  "team add": add,
  "team ls": ls,
  "team show": showOne,
  "team usage": usage,
  "team set": set,
  "team members": members,
  "team add-member": addMember,
  "team set-role": setRole,
  "team remove-member": removeMember,
  "team add-service-account": addServiceAccount,
  "team service-tokens": serviceTokens,
  "team create-service-token": createServiceToken,
  "team revoke-service-token": revokeServiceToken,
  "team invite": invite,
  "team invitations": invitations,
  "team revoke-invitation": revoke,
  "team dataset-copies": copies,
  "team restore-datasets": restoreDatasets,
};
