/** `millrace token`: manages tokens for programs, each with only the scopes it needs. */
import { routes, type Token } from "@millrace/contract";
import { allPages } from "../all-pages.ts";
import { connect } from "../connection.ts";
import type { Column } from "../output.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const dayOf = (time: string | null, otherwise: string) => time?.slice(0, 10) ?? otherwise;

export const tokenColumns: Column<Token>[] = [
  { title: "ID", full: (token) => String(token.id) },
  { title: "NAME", full: (token) => token.name, shrinks: "last", style: ({ current }) => (current ? "bold" : "plain") },
  { title: "USER", full: (token) => token.username },
  { title: "TEAMS", full: (token) => token.team_names?.join(",") ?? "all", shrinks: true },
  { title: "SCOPES", full: (token) => token.scopes.join(","), shrinks: true },
  {
    title: "EXPIRES",
    full: (token) => token.expires_at ?? "never",
    short: (token) => dayOf(token.expires_at, "never"),
  },
  { title: "USED", full: (token) => token.last_used_at ?? "", short: (token) => dayOf(token.last_used_at, "-") },
];

const create: Handler<"token create"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const { client } = await connect({ url: flags.url });
  const scopes = flags.scopes?.split(",").map((scope) => scope.trim());
  const days = flags["expires-in"];
  const body = {
    name,
    ...(scopes ? { scopes } : {}),
    ...(flags.team.length > 0 ? { team_names: [...flags.team] } : {}),
    ...(days === undefined ? {} : { expires_in_days: days }),
  };
  const token = await client.call(routes.createToken, { body });
  if (flags.json) output.json(token);
  else {
    output.print(token.access_token);
    output.note(`Token ${token.id} '${name}' is not shown again; it expires ${token.expires_at ?? "never"}`);
  }
  return 0;
};

const ls: Handler<"token ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const query = { ...(flags.user ? { username: flags.user } : {}), ...(flags.all ? { all_users: true } : {}) };
  const tokens = await allPages(client, routes.listTokens, query);
  if (flags.json) output.json(tokens);
  else if (tokens.length === 0) output.note("No tokens found. Create one: millrace token create NAME");
  else output.table(tokenColumns, tokens);
  return 0;
};

const revoke: Handler<"token revoke"> = async ({ flags, arguments: { ID: token_id } }, output) => {
  const { client } = await connect(flags);
  if (!flags.yes) {
    const { askOnTerminal } = await import("../prompt.ts");
    await askOnTerminal(async () => {
      const own = await allPages(client, routes.listTokens, {});
      const found = own.find(({ id }) => String(id) === token_id);
      const whose = found ? ` '${found.name}' of ${found.username}, last used ${found.last_used_at ?? "never"},` : "";
      return `The token ${token_id}${whose} will be revoked: whatever uses it stops working.`;
    });
  }
  output.print((await client.call(routes.revokeToken, { params: { token_id } })).message);
  return 0;
};

export const handlers: HandlersOf<"token"> = { "token create": create, "token ls": ls, "token revoke": revoke };
