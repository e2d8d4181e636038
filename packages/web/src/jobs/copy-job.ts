/** What can be copied of a job: reading it, running it again, canceling it. */
import { allows, type Job, rerunInput, routes } from "@millrace/contract";
import { commandLine } from "../look/command-line.ts";
import { type Copyable, copyable } from "../look/copy-as.tsx";

export function copyJob(job: Job): Copyable[] {
  const show = copyable(
    "Show",
    routes.listJobs,
    () => ({ query: { job_id: job.id } }),
    (team) => commandLine(team, ["job", "show", job.id]),
  );
  const log = copyable(
    "Log",
    routes.getJobLogs,
    () => ({ params: { job_id: job.id }, query: { format: "json" as const } }),
    (team) => commandLine(team, ["job", "logs", job.id]),
  );
  const rerun = copyable(
    "Rerun",
    routes.createJob,
    () => ({ body: { ...rerunInput(job), reset: true } }),
    (team) => commandLine(team, ["job", "rerun", job.id], { "ignore-checkpoints": true }),
  );
  const cancel = copyable(
    "Cancel",
    routes.cancelJob,
    () => ({ params: { job_id: job.id }, body: {} }),
    (team) => commandLine(team, ["job", "cancel", job.id]),
  );
  return [
    show,
    log,
    ...(allows("rerun", job.status) ? [rerun] : []),
    ...(allows("cancel", job.status) ? [cancel] : []),
  ];
}
