/**
 * `millrace backfill`: shows and controls backfills, which run a pipeline for past dates. `millrace pipeline backfill`
 * creates them.
 */
import { type Backfill, type BackfillItem, type BackfillMoment, routes } from "@millrace/contract";
import { allPages } from "../all-pages.ts";
import { connect } from "../connection.ts";
import { usageError } from "../errors.ts";
import { withoutIds } from "../job/id.ts";
import type { Column, Output } from "../output.ts";
import { wallText } from "../wall-clock.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const done = ({ completed, total }: BackfillItem) => `${completed}/${total}`;

/** Formats a time of a backfill in the backfill's time zone. The time of day is left out if it is midnight. */
const dayText = (moment: string, timezone: string) => wallText(moment, timezone).replace(/ 00:00$/, "");

export const backfillColumns: Column<BackfillItem>[] = [
  { title: "ID", full: ({ id }) => String(id) },
  { title: "PIPELINE", full: ({ pipeline_name }) => pipeline_name, shrinks: "last" },
  { title: "STATUS", full: ({ status }) => status },
  { title: "DONE", full: done },
  { title: "FAILED", full: ({ failed }) => String(failed) },
  { title: "FROM", full: ({ from }) => from, short: ({ from, timezone }) => dayText(from, timezone) },
  { title: "TO", full: ({ to }) => to, short: ({ to, timezone }) => dayText(to, timezone) },
  { title: "EVERY", full: ({ cron_expression }) => cron_expression, shrinks: true },
  { title: "BY", full: ({ created_by }) => created_by, shrinks: "first" },
  { title: "ERROR", full: ({ last_error }) => last_error ?? "", shrinks: true },
];

const momentColumns: Column<BackfillMoment>[] = [
  { title: "MOMENT", full: ({ moment }) => moment },
  { title: "STATUS", full: ({ status }) => status },
  { title: "PIPELINE", full: ({ pipeline_name }) => pipeline_name ?? "-", shrinks: "last" },
  {
    title: "WHY",
    full: ({ error_message }) => error_message ?? "",
    short: ({ error_message }) => withoutIds(error_message ?? ""),
    shrinks: true,
  },
];

const fieldsOf = (backfill: Backfill): [string, string][] => [
  ["id", String(backfill.id)],
  ["status", backfill.status],
  ["done", done(backfill)],
  ["running", String(backfill.running)],
  ["failed", String(backfill.failed)],
  ["waiting", String(backfill.waiting)],
  ["every", backfill.cron_expression],
  ["time zone", backfill.timezone],
  ["parallel", String(backfill.parallel)],
  ["on failure", backfill.on_failure],
  ["last error", backfill.last_error ?? ""],
  ["pipeline", backfill.pipeline_name],
  ["template", backfill.template_name],
  ["by", backfill.created_by],
];

/** Returns the command that the user probably needs next; undefined if no command is needed. */
const nextStep = ({ id, status }: Backfill) =>
  ({
    RUNNING: `millrace backfill show ${id}`,
    FAILED: `millrace backfill retry ${id}`,
    CANCELED: `millrace backfill retry ${id}`,
    COMPLETED: undefined,
  })[status];

export function showBackfill(backfill: Backfill, json: boolean, output: Output): number {
  if (json) {
    output.json(backfill);
    return 0;
  }
  output.fields(fieldsOf(backfill).filter(([, value]) => value !== ""));
  output.table(momentColumns, backfill.moments);
  const next = nextStep(backfill);
  if (next) output.note(`next: ${next}`, "dim");
  return 0;
}

const ls: Handler<"backfill ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const backfills = await allPages(client, routes.listBackfills, {}, flags.limit ?? 20);
  if (flags.json) output.json(backfills);
  else if (backfills.length === 0)
    output.note("No backfills found. Create one: millrace pipeline backfill NAME --from DATE --to DATE");
  else output.table(backfillColumns, backfills);
  return 0;
};

function readId(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw usageError(`'${text}' is not the number of a backfill`, { next: "millrace backfill ls" });
}

const show: Handler<"backfill show"> = async ({ flags, arguments: { ID } }, output) => {
  const { client } = await connect(flags);
  return showBackfill(
    await client.call(routes.getBackfill, { query: { backfill_id: readId(ID) } }),
    flags.json,
    output,
  );
};

const act =
  (route: typeof routes.cancelBackfill | typeof routes.retryBackfill): Handler<"backfill cancel"> =>
  async ({ flags, arguments: { ID } }, output) => {
    const { client } = await connect(flags);
    const { backfill } = await client.call(route, { body: { backfill_id: readId(ID) } });
    return showBackfill(backfill, flags.json, output);
  };

export const handlers: HandlersOf<"backfill"> = {
  "backfill ls": ls,
  "backfill show": show,
  "backfill cancel": act(routes.cancelBackfill),
  "backfill retry": act(routes.retryBackfill),
};
