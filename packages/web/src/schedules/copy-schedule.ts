/** What can be copied of schedules, tasks and backfills: their lists, new ones, and what can be done with one. */
import {
  type Backfill,
  type CreateBackfillInput,
  type CreatePipelineScheduleInput,
  type PipelineScheduleItem,
  routes,
  type TaskItem,
} from "@millrace/contract";
import { commandLine } from "../look/command-line.ts";
import { type Copyable, copyable } from "../look/copy-as.tsx";

const list = (route: "listSchedules" | "listTasks" | "listUpcoming" | "listBackfills", words: readonly string[]) =>
  copyable(
    "List",
    routes[route],
    () => ({ query: {} }),
    (team) => commandLine(team, words),
  );

/** What the tabs of the screen list, by the tab's name. */
export const copyLists: Readonly<Record<string, Copyable>> = {
  "": list("listSchedules", ["schedule", "ls"]),
  tasks: list("listTasks", ["task", "ls"]),
  upcoming: list("listUpcoming", ["upcoming"]),
  backfills: list("listBackfills", ["backfill", "ls"]),
};

export const copyNewSchedule = (body: CreatePipelineScheduleInput): Copyable =>
  copyable(
    "Create",
    routes.createSchedule,
    () => ({ body }),
    (team) =>
      commandLine(team, ["schedule", "create", body.schedule_name, body.pipeline_name], {
        cron: body.cron_expression ?? "",
        "start-time": body.start_after ?? "",
        timezone: body.timezone ?? "",
        "on-dataset": body.trigger_dataset ?? "",
        "quiet-for": body.trigger_dataset && body.quiet_seconds != null ? `${body.quiet_seconds}s` : "",
        overlap: body.overlap ?? "",
        "catch-up": body.catch_up ?? "",
        follow: body.follow ?? "",
      }),
  );

export function copySchedule({ id, schedule_name, is_paused }: PipelineScheduleItem): Copyable[] {
  const word = is_paused ? "resume" : "pause";
  return [
    copyable(
      "Show",
      routes.getSchedule,
      () => ({ query: { schedule_id: id } }),
      (team) => commandLine(team, ["schedule", "show", schedule_name]),
    ),
    copyable(
      is_paused ? "Resume" : "Pause",
      routes.updateSchedule,
      () => ({ body: { schedule_id: id, pause_pipeline: !is_paused } }),
      (team) => commandLine(team, ["schedule", "update", schedule_name], { [word]: true }),
    ),
    copyable(
      "Delete",
      routes.deleteSchedule,
      () => ({ body: { schedule_id: id } }),
      (team) => commandLine(team, ["schedule", "delete", schedule_name]),
    ),
  ];
}

export function copyTask({ id, is_paused }: TaskItem): Copyable[] {
  return [
    copyable(
      "Show",
      routes.getTask,
      () => ({ params: { job_id: id }, query: {} }),
      (team) => commandLine(team, ["task", "show", id]),
    ),
    copyable(
      is_paused ? "Resume" : "Pause",
      routes.updateTask,
      () => ({ params: { job_id: id }, body: { is_paused: !is_paused } }),
      (team) => commandLine(team, ["task", is_paused ? "resume" : "pause", id]),
    ),
    copyable(
      "Cancel",
      routes.cancelJob,
      () => ({ params: { job_id: id }, body: {} }),
      (team) => commandLine(team, ["job", "cancel", id]),
    ),
  ];
}

export const copyNewBackfill = (body: CreateBackfillInput): Copyable =>
  copyable(
    "Start",
    routes.createBackfill,
    () => ({ body }),
    (team) =>
      commandLine(team, ["pipeline", "backfill", body.pipeline_name], {
        from: body.from,
        to: body.to,
        every: body.every ?? "",
        timezone: body.timezone ?? "",
        parallel: body.parallel ?? "",
        "on-failure": body.on_failure ?? "",
      }),
  );

export function copyBackfill({ id, status }: Backfill): Copyable[] {
  const change = (title: string, route: "cancelBackfill" | "retryBackfill", word: string) =>
    copyable(
      title,
      routes[route],
      () => ({ body: { backfill_id: id } }),
      (team) => commandLine(team, ["backfill", word, String(id)]),
    );
  const show = copyable(
    "Show",
    routes.getBackfill,
    () => ({ query: { backfill_id: id } }),
    (team) => commandLine(team, ["backfill", "show", String(id)]),
  );
  const next =
    status === "RUNNING"
      ? [change("Cancel", "cancelBackfill", "cancel")]
      : status === "COMPLETED"
        ? []
        : [change("Retry failed", "retryBackfill", "retry")];
  return [show, ...next];
}
