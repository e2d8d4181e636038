/**
 * `millrace task`: manages tasks, which create jobs at set times. `millrace job run` creates a task with --cron or
 * --start-time.
 */
import { routes, type Task, type TaskItem, type UpdateTaskInput } from "@millrace/contract";
import { allPages } from "../all-pages.ts";
import { type Connection, connect } from "../connection.ts";
import { CliError, usageError } from "../errors.ts";
import { isPartOfId, leastOfId, shortId } from "../job/id.ts";
import type { Column, Output } from "../output.ts";
import { closest } from "../parse.ts";
import { distanceText, whenText } from "../wall-clock.ts";
import type { Handler, HandlersOf } from "./handler.ts";

export const taskColumns = (now: number): Column<TaskItem>[] => [
  { title: "ID", full: ({ id }) => id, short: ({ id }) => shortId(id) },
  { title: "NAME", full: ({ name }) => name ?? "", shrinks: "last" },
  { title: "STATE", full: ({ is_paused }) => (is_paused ? "paused" : "active") },
  { title: "CRON", full: ({ cron_expression }) => cron_expression ?? "once" },
  { title: "TIME ZONE", full: ({ timezone }) => timezone, shrinks: "first" },
  {
    title: "NEXT RUN",
    full: ({ next_run }) => next_run ?? "-",
    short: ({ next_run }) => (next_run ? distanceText(next_run, now) : "-"),
  },
  { title: "FIRED", full: ({ fired }) => String(fired), short: null },
  { title: "SKIPPED", full: ({ skipped }) => String(skipped), short: null },
  { title: "BY", full: ({ created_by }) => created_by, short: null },
  { title: "OWNER", full: ({ owner }) => owner, shrinks: "first" },
  { title: "WHY", full: ({ last_error }) => last_error ?? "", shrinks: true },
];

const ls: Handler<"task ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const tasks = await allPages(client, routes.listTasks, {});
  if (flags.json) output.json(tasks);
  else if (tasks.length === 0) output.note("No tasks found. Create one: millrace job run FILE --cron EXPRESSION");
  else output.table(taskColumns(Date.now()), tasks);
  return 0;
};

const showOne: Handler<"task show"> = async ({ flags, arguments: { TASK } }, output) => {
  const connection = await connect(flags);
  const { id } = await findTask(connection, TASK);
  const task = await connection.client.call(routes.getTask, { params: { job_id: id }, query: {} });
  return show(task, flags.json, output);
};

const pause: Handler<"task pause"> = ({ flags, arguments: { TASK } }, output) =>
  change(flags, TASK, { is_paused: true }, output);

const resume: Handler<"task resume"> = ({ flags, arguments: { TASK } }, output) =>
  change(flags, TASK, { is_paused: false }, output);

const update: Handler<"task update"> = async ({ flags, arguments: { TASK } }, output) => {
  const start = flags["start-time"];
  const { parseStartTime } = await import("../job/start-time.ts");
  const changes = {
    ...(flags.name === undefined ? {} : { name: flags.name }),
    ...(flags.cron === undefined ? {} : { cron_expression: flags.cron }),
    ...(start === undefined
      ? {}
      : { start_after: start.trim() === "" ? "" : parseStartTime(start, new Date(), "task update") }),
    ...(flags.timezone === undefined ? {} : { timezone: flags.timezone }),
  };
  if (Object.keys(changes).length === 0)
    throw usageError("There is nothing to change: give at least one flag", { next: "millrace task update --help" });
  return change(flags, TASK, changes, output);
};

type Flags = Parameters<typeof connect>[0] & { readonly json: boolean };

async function change(flags: Flags, text: string, body: UpdateTaskInput, output: Output): Promise<number> {
  const connection = await connect(flags);
  const { id } = await findTask(connection, text);
  return show(await connection.client.call(routes.updateTask, { params: { job_id: id }, body }), flags.json, output);
}

const remove: Handler<"task rm"> = async ({ flags, arguments: { TASK } }, output) => {
  const connection = await connect(flags);
  const { id, name, next_run } = await findTask(connection, TASK);
  if (!flags.yes) {
    const { askOnTerminal } = await import("../prompt.ts");
    const next = next_run ? `; its next run would be ${next_run}` : "";
    await askOnTerminal(async () => `The task ${name ?? id} will be removed${next}.`);
  }
  const answer = await connection.client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
  if (flags.json) output.json(answer);
  else output.print(`Removed task ${name ?? id}`);
  return 0;
};

/** Finds a task by its name or by part of its id. The name is tried first. Throws if several tasks match. */
async function findTask({ client }: Connection, text: string): Promise<TaskItem> {
  const tasks = await allPages(client, routes.listTasks, {});
  const named = tasks.filter(({ name }) => name === text);
  const part = text.length >= leastOfId ? tasks.filter(({ id }) => isPartOfId(id, text)) : [];
  const found = named.length > 0 ? named : part;
  if (found.length === 1 && found[0]) return found[0];
  if (found.length > 1)
    throw new CliError(`'${text}' matches ${found.length} tasks`, {
      why: found
        .slice(0, 10)
        .map(({ id, name }) => `${shortId(id)}  ${name ?? ""}`.trimEnd())
        .join("\n"),
      next: "Use an id from the first column above",
    });
  const guess = closest(
    text,
    tasks.flatMap(({ name }) => name ?? []),
  );
  throw new CliError(`There is no task '${text}' in this team`, {
    ...(guess ? { why: `Did you mean ${guess}?` } : {}),
    next: "millrace task ls",
  });
}

function show(task: Task, json: boolean, output: Output): number {
  if (json) output.json(task);
  else output.fields(fieldsOf(task).filter(([, value]) => value !== ""));
  return 0;
}

const fieldsOf = (task: Task): [string, string][] => [
  ["id", task.id],
  ["name", task.name ?? ""],
  ["state", task.is_paused ? "paused" : "active"],
  ["cron", task.cron_expression ?? ""],
  ["start after", task.start_after ?? ""],
  ["time zone", task.timezone],
  ["next runs", task.next_runs.map((run) => whenText(run, task.timezone)).join("\n")],
  ["runs so far", String(task.fired)],
  ["skipped ticks", String(task.skipped)],
  ["last error", task.last_error ?? ""],
  ["by", task.created_by],
  ["owner", task.owner],
];

export const handlers: HandlersOf<"task"> = {
  "task ls": ls,
  "task show": showOne,
  "task pause": pause,
  "task resume": resume,
  "task update": update,
  "task rm": remove,
};
