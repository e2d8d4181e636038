/** `millrace schedule`: manages pipelines that run repeatedly. */

import {
  catchUpPolicies,
  followPolicies,
  type NewerScript,
  overlapPolicies,
  type PipelineSchedule,
  type PipelineScheduleItem,
  routes,
} from "@millrace/contract";
import { allPages } from "../all-pages.ts";
import { type Connection, connect } from "../connection.ts";
import { CliError, usageError } from "../errors.ts";
import { withoutIds } from "../job/id.ts";
import type { Column, Output } from "../output.ts";
import { closest } from "../parse.ts";
import { firingsText, healthStyle, healthText } from "../schedule/firings.ts";
import { distanceText, whenText } from "../wall-clock.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const stateOf = ({ is_paused, next_run, waiting_since, trigger_dataset }: PipelineScheduleItem) => {
  if (is_paused) return "paused";
  if (waiting_since) return "waiting for the last run";
  return next_run === null && trigger_dataset === null ? "over" : "active";
};

/** Returns a word that tells whether the schedule uses the newest scripts. */
function scriptsOf({ newer_scripts, follow }: PipelineScheduleItem): string {
  if (follow === "latest") return "latest";
  if (newer_scripts === null) return "-";
  return newer_scripts.length === 0 ? "current" : `${newer_scripts.length} newer`;
}
const whenOf = ({ cron_expression, start_after, trigger_dataset }: PipelineScheduleItem) =>
  cron_expression ?? (start_after === null && trigger_dataset !== null ? "on dataset" : "once");

/** Returns the columns of the table of schedules. On a narrow terminal, WHY is the last column to be left out. */
export const scheduleColumns = (now: number): Column<PipelineScheduleItem>[] => [
  { title: "ID", full: ({ id }) => String(id) },
  { title: "NAME", full: ({ schedule_name }) => schedule_name, shrinks: "last" },
  { title: "STATE", full: stateOf },
  { title: "CRON", full: whenOf },
  { title: "TIME ZONE", full: ({ timezone }) => timezone, shrinks: "first" },
  {
    title: "NEXT RUN",
    full: ({ next_run }) => next_run ?? "-",
    short: ({ next_run }) => (next_run ? distanceText(next_run, now) : "-"),
  },
  { title: "ON DATASET", full: ({ trigger_dataset }) => trigger_dataset ?? "-", shrinks: "first" },
  { title: "HEALTH", full: ({ health }) => health, style: healthStyle },
  { title: "OVERLAP", full: ({ overlap }) => overlap, short: null },
  { title: "CATCH-UP", full: ({ catch_up }) => catch_up, short: null },
  { title: "BY", full: ({ created_by }) => created_by.username, short: null },
  { title: "OWNER", full: ({ owner }) => owner.username, shrinks: "first" },
  { title: "SKIPPED", full: ({ skipped }) => String(skipped), short: null },
  {
    title: "WHY",
    full: ({ health_reason }) => health_reason ?? "",
    short: ({ health_reason }) => withoutIds(health_reason ?? ""),
    shrinks: true,
  },
  {
    title: "SCRIPTS",
    full: scriptsOf,
    style: (row) => (row.newer_scripts?.length ? "yellow" : "plain"),
    shrinks: true,
    least: 7,
  },
];

interface TimeFlags {
  readonly cron: string | undefined;
  readonly "start-time": string | undefined;
  readonly timezone: string | undefined;
  readonly "on-dataset": string | undefined;
  readonly "quiet-for": string | undefined;
  readonly overlap: string | undefined;
  readonly "catch-up": string | undefined;
  readonly follow: string | undefined;
}

/** Returns the fields of the request, read from the flags. An empty `--start-time` removes the start time. */
async function readFlags(flags: TimeFlags, command: string) {
  const start = flags["start-time"];
  const { parseStartTime } = await import("../job/start-time.ts");
  return {
    ...(flags.cron === undefined ? {} : { cron_expression: flags.cron }),
    ...(start === undefined
      ? {}
      : { start_after: start.trim() === "" ? "" : parseStartTime(start, new Date(), command) }),
    ...(flags.timezone === undefined ? {} : { timezone: flags.timezone }),
    ...(flags["on-dataset"] === undefined ? {} : { trigger_dataset: flags["on-dataset"] }),
    ...(flags["quiet-for"] === undefined ? {} : { quiet_seconds: readSeconds(flags["quiet-for"]) }),
    ...(flags.overlap === undefined ? {} : { overlap: readPolicy("overlap", flags.overlap, overlapPolicies) }),
    ...(flags["catch-up"] === undefined
      ? {}
      : { catch_up: readPolicy("catch-up", flags["catch-up"], catchUpPolicies) }),
    ...(flags.follow === undefined ? {} : { follow: readPolicy("follow", flags.follow, followPolicies) }),
  };
}

const ownerOf = ({ owner, force }: { readonly owner: string | undefined; readonly force: boolean }) =>
  owner === undefined ? {} : { owner, force };
function readSeconds(text: string): number {
  const [, count, unit = "s"] = /^(\d{1,6}) ?(s|m|h|d)?$/.exec(text.trim().toLowerCase()) ?? [];
  const seconds = { s: 1, m: 60, h: 3600, d: 86_400 }[unit];
  if (count !== undefined && seconds !== undefined) return Number(count) * seconds;
  throw usageError(`--quiet-for: '${text}' is not a duration`, {
    why: "Expected seconds, or a number with s, m, h or d, such as 10m",
    next: "millrace schedule create --help",
  });
}

function readPolicy<P extends string>(flag: string, text: string, policies: readonly P[]): P {
  const found = policies.find((policy) => policy === text.toLowerCase());
  if (found) return found;
  const guess = closest(text.toLowerCase(), policies);
  throw usageError(`--${flag}: unknown policy '${text}'`, {
    why: guess ? `Did you mean ${guess}?` : `Expected one of ${policies.join(", ")}`,
    next: "millrace schedule create --help",
  });
}

const create: Handler<"schedule create"> = async ({ flags, arguments: { NAME, PIPELINE } }, output) => {
  const body = {
    schedule_name: NAME,
    pipeline_name: PIPELINE,
    ...(await readFlags(flags, "schedule create")),
    ...ownerOf(flags),
  };
  if (!flags.cron && !flags["start-time"] && !flags["on-dataset"])
    throw usageError("The schedule would never run", {
      why: "Expected --cron, --start-time or --on-dataset",
      next: "millrace schedule create --help",
    });
  const { client } = await connect(flags);
  return show((await client.call(routes.createSchedule, { body })).schedule, flags.json, output);
};

const update: Handler<"schedule update"> = async ({ flags, arguments: { SCHEDULE } }, output) => {
  if (flags.pause && flags.resume) throw usageError("--pause and --resume cannot be combined");
  const changes = {
    ...(flags.name === undefined ? {} : { schedule_name: flags.name }),
    ...(await readFlags(flags, "schedule update")),
    ...(flags.refresh ? { refresh: true } : {}),
    ...(flags.pause || flags.resume ? { pause_pipeline: flags.pause } : {}),
    ...ownerOf(flags),
  };
  if (Object.keys(changes).length === 0)
    throw usageError("There is nothing to change: give at least one flag", { next: "millrace schedule update --help" });
  const connection = await connect(flags);
  const body = { schedule_id: await findId(connection, SCHEDULE), ...changes };
  return show((await connection.client.call(routes.updateSchedule, { body })).schedule, flags.json, output);
};

const remove: Handler<"schedule delete"> = async ({ flags, arguments: { SCHEDULE } }, output) => {
  const connection = await connect(flags);
  const body = { schedule_id: await findId(connection, SCHEDULE) };
  if (!flags.yes) {
    const { askOnTerminal } = await import("../prompt.ts");
    await askOnTerminal(async () => {
      const found = await connection.client.call(routes.getSchedule, { query: body });
      const next = found.next_runs[0] ? `; its next run would be ${found.next_runs[0]}` : "";
      return `The schedule ${found.schedule_name} and its copy of the pipeline will be deleted${next}.`;
    });
  }
  const answer = await connection.client.call(routes.deleteSchedule, { body });
  if (flags.json) output.json(answer);
  else output.print(`Deleted schedule ${SCHEDULE}`);
  return 0;
};

const ls: Handler<"schedule ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const schedules = await allPages(client, routes.listSchedules, {});
  if (flags.json) output.json(schedules);
  else if (schedules.length === 0)
    output.note("No schedules found. Create one: millrace schedule create NAME PIPELINE --cron EXPRESSION");
  else output.table(scheduleColumns(Date.now()), schedules);
  return 0;
};

const showOne: Handler<"schedule show"> = async ({ flags, arguments: { SCHEDULE } }, output) => {
  const connection = await connect(flags);
  const query = { schedule_id: await findId(connection, SCHEDULE) };
  return show(await connection.client.call(routes.getSchedule, { query }), flags.json, output);
};

/**
 * Finds the id of a schedule by the schedule's name or id. The name is tried first, because a schedule may be named
 * "7".
 */
async function findId({ client }: Connection, text: string): Promise<number> {
  const schedules = await allPages(client, routes.listSchedules, {});
  const found = schedules.find((one) => one.schedule_name === text) ?? schedules.find(({ id }) => String(id) === text);
  if (found) return found.id;
  const guess = closest(
    text,
    schedules.map(({ schedule_name }) => schedule_name),
  );
  throw new CliError(`There is no schedule '${text}' in this team`, {
    ...(guess ? { why: `Did you mean ${guess}?` } : {}),
    next: "millrace schedule ls",
  });
}

function show(schedule: PipelineSchedule, json: boolean, output: Output): number {
  if (json) output.json(schedule);
  else output.fields(fieldsOf(schedule).filter(([, value]) => value !== ""));
  return 0;
}

const fieldsOf = (schedule: PipelineSchedule): [string, string][] => [
  ["id", String(schedule.id)],
  ["name", schedule.schedule_name],
  ["state", stateOf(schedule)],
  ["health", healthText(schedule)],
  ["cron", schedule.cron_expression ?? ""],
  ["start after", schedule.start_after ?? ""],
  ["time zone", schedule.timezone],
  ["on dataset", schedule.trigger_dataset ?? ""],
  ["quiet for", schedule.trigger_dataset ? `${schedule.quiet_seconds} seconds` : ""],
  ["new version", schedule.trigger_version ? `${schedule.trigger_version}, fires ${schedule.trigger_due_at}` : ""],
  ["overlap", schedule.overlap],
  ["catch-up", schedule.catch_up],
  ["scripts", schedule.follow === "latest" ? "the newest, at each firing" : "as of its creation or last refresh"],
  ["newer scripts", (schedule.newer_scripts ?? []).map(newerText).join("\n")],
  ["take them", takesMore(schedule) ? `millrace schedule update ${schedule.id} --refresh` : ""],
  ["next runs", schedule.next_runs.map((run) => whenText(run, schedule.timezone)).join("\n")],
  ["newest run", schedule.latest_run ? runText(schedule.latest_run) : ""],
  ["runs so far", String(schedule.fired)],
  ["skipped ticks", String(schedule.skipped)],
  ["last firings", firingsText(schedule.firings)],
  ["last error", schedule.last_error ?? ""],
  ["pipeline", schedule.pipeline.name],
  ["datasets", schedule.pipeline.datasets.join("\n")],
  ["by", schedule.created_by.username],
  ["owner", schedule.owner.username],
  ["problem", schedule.owner_problem ?? ""],
];

/** Tells whether newer scripts exist that the schedule does not pick up by itself. */
const takesMore = ({ newer_scripts, follow }: PipelineSchedule) => follow === "none" && !!newer_scripts?.length;

const newerText = ({ dataset, name, job_id, created_at, created_by }: NewerScript) =>
  `${dataset}: ${name ?? "a job"} of ${created_at} by ${created_by} (job ${job_id})`;

const runText = ({ name, status, created_at }: PipelineSchedule["pipeline"]) => `${name} ${status} ${created_at}`;

export const handlers: HandlersOf<"schedule"> = {
  "schedule create": create,
  "schedule update": update,
  "schedule delete": remove,
  "schedule ls": ls,
  "schedule show": showOne,
};
