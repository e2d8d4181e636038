/** `millrace upcoming`: shows the next firings of schedules and tasks. */
import { routes, type Upcoming } from "@millrace/contract";
import { type Connection, connect } from "../connection.ts";
import { shortId } from "../job/id.ts";
import type { Column } from "../output.ts";
import { checkZone, localTime, wallText } from "../wall-clock.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const columns = (zone: string, now: number): Column<Upcoming>[] => [
  {
    title: "WHEN",
    full: ({ at }) => localTime(at, zone),
    short: ({ at }) => `${wallText(at, zone)}${isOverdue(at, now) ? " overdue" : ""}`,
    style: ({ at }) => (isOverdue(at, now) ? "red" : "plain"),
  },
  { title: "NAME", full: ({ name }) => name ?? "", shrinks: "last" },
  { title: "KIND", full: ({ kind }) => kind },
  { title: "ID", full: ({ id }) => id, short: ({ kind, id }) => (kind === "task" ? shortId(id) : id) },
  { title: "CRON", full: ({ cron_expression }) => cron_expression ?? "once" },
  { title: "TIME ZONE", full: ({ timezone }) => timezone },
  {
    title: "THEN",
    full: ({ following }) => (following ? localTime(following, zone) : "-"),
    short: ({ following }) => (following ? wallText(following, zone) : "-"),
  },
];

/** Tells whether a firing is overdue: it should have happened at least one minute ago. */
const isOverdue = (at: string, now: number) => now - Date.parse(at) >= 60_000;

const upcoming: Handler<"upcoming"> = async ({ flags }, output) => {
  const asked = flags.tz === undefined ? undefined : checkZone(flags.tz);
  const connection = await connect(flags);
  const zone = asked ?? (await ownZone(connection));
  const items = await connection.client.call(routes.listUpcoming, { query: { limit: flags.limit ?? 20 } });
  if (flags.json) output.json(items.map((item) => ({ ...item, local: localTime(item.at, zone) })));
  else if (items.length === 0) output.note("No upcoming firings: there are no schedules or tasks, or they are paused");
  else {
    output.table(columns(zone, Date.now()), items);
    output.note(`Times are in ${zone}`);
  }
  return 0;
};

async function ownZone({ client }: Connection): Promise<string> {
  const { timezone } = await client.call(routes.whoAmI, {});
  return timezone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

export const handlers: HandlersOf<"upcoming"> = { upcoming };
