/** `millrace user`: manages users, including the caller. */
import { routes, type User, type WhoAmI } from "@millrace/contract";
import { connect } from "../connection.ts";
import { usageError } from "../errors.ts";
import type { Column, Output } from "../output.ts";
import type { Handler, HandlersOf } from "./handler.ts";

interface PersonFlags {
  readonly "first-name": string | undefined;
  readonly "last-name": string | undefined;
  readonly email: string | undefined;
  readonly timezone: string | undefined;
}

const personOf = (flags: PersonFlags) => ({
  ...(flags["first-name"] === undefined ? {} : { first_name: flags["first-name"] }),
  ...(flags["last-name"] === undefined ? {} : { last_name: flags["last-name"] }),
  ...(flags.email === undefined ? {} : { email: flags.email }),
  ...(flags.timezone === undefined ? {} : { timezone: flags.timezone }),
});

const teamsText = ({ teams }: Pick<User, "teams">) => teams.map(({ name, role }) => `${name} (${role})`).join(", ");

const columns: Column<User>[] = [
  { title: "NAME", full: (user) => user.username },
  { title: "FIRST NAME", full: (user) => user.first_name, shrinks: true },
  { title: "LAST NAME", full: (user) => user.last_name, shrinks: true },
  { title: "E-MAIL", full: (user) => user.email ?? "", shrinks: true },
  { title: "STATE", full: stateOf, style: (user) => (user.disabled_at ? "dim" : "plain") },
  { title: "TEAMS", full: teamsText, shrinks: true },
];

function stateOf({ is_admin, disabled_at, service_account }: User): string {
  if (disabled_at) return "disabled";
  if (service_account) return "service account";
  return is_admin ? "administrator" : "enabled";
}

function show(user: User | WhoAmI, json: boolean, output: Output): number {
  if (json) output.json(user);
  else
    output.fields([
      ["username", user.username],
      ["first_name", user.first_name],
      ["last_name", user.last_name],
      ["email", user.email ?? ""],
      ["timezone", user.timezone ?? ""],
      ["administrator", user.is_admin ? "yes" : "no"],
      ["password", user.has_password ? "set" : "none"],
      ["teams", teamsText(user)],
      ...("disabled_at" in user ? userFields(user) : tokenFields(user)),
    ]);
  return 0;
}

const userFields = (user: User): [string, string][] => [
  ["created_at", user.created_at],
  ["disabled_at", user.disabled_at ?? ""],
];

const tokenFields = (me: WhoAmI): [string, string][] => [
  ["token", me.token_name],
  ["scopes", me.scopes.join(", ")],
  ["expires_at", me.expires_at ?? "never"],
];

const add: Handler<"user add"> = async ({ flags, arguments: { USER: username } }, output) => {
  const { client } = await connect(flags);
  const { askNewPassword } = await import("../prompt.ts");
  const password = flags.password ? { password: await askNewPassword(username) } : {};
  const body = { username, ...personOf(flags), is_admin: flags.admin, ...password };
  const user = await client.call(routes.createUser, { body });
  if (flags.json) return show(user, true, output);
  output.print(`Created user ${username}`);
  const sign = flags.password ? "" : `; to sign in: millrace admin link --user ${username}`;
  output.note(`Add the user to a team: millrace team add-member ${username}${sign}`);
  return 0;
};

const ls: Handler<"user ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const users: User[] = [];
  for (let page: User[] = []; users.length === 0 || page.length === 1000; ) {
    const cursor = users.at(-1)?.username;
    page = await client.call(routes.listUsers, { query: { limit: 1000, ...(cursor ? { cursor } : {}) } });
    users.push(...page);
  }
  if (flags.json) output.json(users);
  else output.table(columns, users);
  return 0;
};

const showOne: Handler<"user show"> = async ({ flags, arguments: { USER: username } }, output) => {
  const { client } = await connect(flags);
  const user = username
    ? await client.call(routes.getUser, { params: { username } })
    : await client.call(routes.whoAmI, {});
  return show(user, flags.json, output);
};

const set: Handler<"user set"> = async ({ flags, arguments: { USER: username } }, output) => {
  const admin = flags.admin || flags["no-admin"] ? { is_admin: flags.admin } : {};
  const body = { ...personOf(flags), ...admin };
  const next = "millrace user set --help";
  if (flags.admin && flags["no-admin"]) throw usageError("--admin and --no-admin cannot be combined", { next });
  if (Object.keys(body).length === 0) throw usageError("There is nothing to change: give at least one flag", { next });
  if (!username && "is_admin" in body)
    throw usageError("USER is missing", { why: "--admin and --no-admin need the name of a user", next });
  const { client } = await connect(flags);
  const user = username
    ? await client.call(routes.updateUser, { params: { username }, body })
    : await client.call(routes.updateProfile, { body });
  return show(user, flags.json, output);
};

const disable: Handler<"user disable"> = async ({ flags, arguments: { USER: username } }, output) => {
  const { client } = await connect(flags);
  const { agreeToLeave, transferOf } = await import("../team/leaving.ts");
  const to = flags["transfer-to"];
  const query = to === undefined ? {} : { transfer_to: to };
  const work = await client.call(routes.getUserWork, { params: { username }, query });
  if (!(await agreeToLeave(username, work, flags, output))) return 0;
  await client.call(routes.updateUser, { params: { username }, body: { disabled: true, ...transferOf(flags) } });
  output.print(
    `Disabled user ${username}${to === undefined ? "" : `; their schedules, tasks and pipelines now belong to ${to}`}`,
  );
  return 0;
};

const enable: Handler<"user enable"> = async ({ flags, arguments: { USER: username } }, output) => {
  const { client } = await connect(flags);
  await client.call(routes.updateUser, { params: { username }, body: { disabled: false } });
  output.print(`Enabled user ${username}`);
  return 0;
};

const passwd: Handler<"user passwd"> = async ({ flags, arguments: { USER: username } }, output) => {
  const { client } = await connect(flags);
  const { askNewPassword, askPasswordChange } = await import("../prompt.ts");
  if (username) {
    const password = await askNewPassword(username);
    await client.call(routes.updateUser, { params: { username }, body: { password } });
    output.print(`Changed the password of ${username} and ended their browser sessions`);
    return 0;
  }
  const me = await client.call(routes.whoAmI, {});
  const { current, password } = me.has_password
    ? await askPasswordChange(me.username)
    : { current: undefined, password: await askNewPassword(me.username) };
  const body = { password, ...(current === undefined ? {} : { current_password: current }) };
  output.print((await client.call(routes.changePassword, { body })).message);
  return 0;
};

export const handlers: HandlersOf<"user"> = {
  "user add": add,
  "user ls": ls,
  "user show": showOne,
  "user set": set,
  "user disable": disable,
  "user enable": enable,
  "user passwd": passwd,
};
