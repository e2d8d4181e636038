/** `millrace audit`: shows who changed what. */
import { type AuditEntry, routes } from "@millrace/contract";
import { connect, openConnection } from "../connection.ts";
import type { Column } from "../output.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const columns: Column<AuditEntry>[] = [
  { title: "ID", full: (entry) => String(entry.id) },
  { title: "WHEN", full: (entry) => entry.at, short: (entry) => entry.at.slice(0, 19).replace("T", " ") },
  { title: "USER", full: (entry) => entry.username || "-" },
  { title: "ACTION", full: (entry) => entry.action },
  { title: "TARGET", full: (entry) => entry.target, shrinks: "last" },
  { title: "DETAIL", full: (entry) => entry.detail, shrinks: true },
  { title: "TEAM", full: (entry) => entry.team_name ?? "" },
  { title: "VIA", full: (entry) => entry.via, shrinks: true },
  { title: "ADDRESS", full: (entry) => entry.address, shrinks: true },
];

const audit: Handler<"audit"> = async ({ flags }, output) => {
  const { client, settings } = await connect(flags);
  const { is_admin } = await client.call(routes.whoAmI, {});
  // Administrators see all teams unless they name one; for everybody else, the default team applies.
  const asker = is_admin && !flags.team ? openConnection({ ...settings, team: undefined }).client : client;
  const entries = await asker.call(routes.listAudit, {
    query: {
      limit: flags.limit ?? 50,
      ...(flags.user ? { username: flags.user } : {}),
      ...(flags.action ? { action: flags.action } : {}),
      ...(flags.before ? { cursor: flags.before } : {}),
    },
  });
  if (flags.json) output.json(entries);
  else if (entries.length === 0) output.note("No entries found");
  else output.table(columns, entries);
  return 0;
};

export const handlers: HandlersOf<"audit"> = { audit };
