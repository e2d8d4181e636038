/** `millrace job`: runs, lists, follows, shows, cancels and reruns jobs. */
import { type Job, type JobInput, routes } from "@millrace/contract";
import { type Connection, connect } from "../connection.ts";
import { fetchJob, findJobId } from "../job/find.ts";
import { clusterColumns, jobColumns, jobFields, sizeText, usageColumns } from "../job/view.ts";
import type { Output } from "../output.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const run: Handler<"job run"> = async (input, output) => {
  const { composeJob } = await import("../job/compose.ts");
  const body = composeJob(input);
  const connection = await connect(input.flags);
  if (input.flags.files.length > 0) {
    const { uploadFiles } = await import("../job/upload.ts");
    body.files = await uploadFiles(connection, input.flags.files, output);
  }
  return createAndFollow(connection, body, input.flags, output);
};

const rerun: Handler<"job rerun"> = async ({ flags, arguments: { ID } }, output) => {
  const connection = await connect(flags);
  const job = await fetchJob(connection, await findJobId(connection, ID));
  const { composeRerun } = await import("../job/compose.ts");
  return createAndFollow(connection, composeRerun(job, flags["ignore-checkpoints"], flags.params), flags, output);
};

interface FollowWishes {
  readonly "no-wait": boolean;
  readonly "no-follow": boolean;
  readonly json: boolean;
}

async function createAndFollow(
  connection: Connection,
  body: JobInput,
  wishes: FollowWishes,
  output: Output,
): Promise<number> {
  const { createJob } = await import("../job/create.ts");
  const job = await createJob(connection, body, output);
  if (job.status === "TASK") output.note(`Task ${job.id} starts ${job.next_run ? `at ${job.next_run}` : "later"}`);
  else output.note(`Job ${job.id} created: ${job.url}`);
  if (job.status === "TASK" || wishes["no-wait"]) {
    if (wishes.json) output.json(job);
    else output.print(job.id);
    return 0;
  }
  const { watchJob } = await import("../job/watch.ts");
  return watchJob(connection, job.id, { log: !wishes["no-follow"], json: wishes.json }, output);
}

const logs: Handler<"job logs"> = async ({ flags, arguments: { ID } }, output) => {
  const connection = await connect(flags);
  const id = await findJobId(connection, ID);
  const { printLog, tailOffset } = await import("../job/tail.ts");
  const { attempt } = flags;
  const log = { jobId: id, attempt };
  const after = flags.tail === undefined ? 0 : await tailOffset(connection, log, flags.tail);
  if (flags["no-follow"] || attempt !== undefined) {
    await printLog(connection, log, after, output);
    return 0;
  }
  const { watchJob } = await import("../job/watch.ts");
  return watchJob(connection, id, { log: true, json: false, after }, output);
};

const ls: Handler<"job ls"> = async ({ flags }, output) => {
  const connection = await connect(flags);
  const { listJobs, listQuery } = await import("../job/list.ts");
  const jobs = await listJobs(connection, await listQuery(connection, flags), output);
  if (flags.json) output.json(jobs);
  else if (jobs.length === 0) output.note("No jobs found. Run one: millrace job run FILE");
  else output.table<Job>(jobColumns(flags.extended), jobs);
  return 0;
};

const show: Handler<"job show"> = async ({ flags, arguments: { ID } }, output) => {
  const connection = await connect(flags);
  const job = await fetchJob(connection, await findJobId(connection, ID));
  const { client } = connection;
  const attempts = await client.call(routes.getJobAttempts, { params: { job_id: job.id }, query: {} });
  const { next_attempt_at, waits_for } = attempts;
  if (flags.json) output.json({ ...job, attempts: attempts.attempts, next_attempt_at, waits_for });
  else output.fields(jobFields(job, attempts));
  return 0;
};

const why: Handler<"job why"> = async ({ flags, arguments: { ID } }, output) => {
  const connection = await connect(flags);
  const id = await findJobId(connection, ID);
  const wait = await connection.client.call(routes.getJobWait, { params: { job_id: id }, query: {} });
  if (flags.json) output.json(wait);
  else {
    const { waitLines } = await import("../job/wait.ts");
    for (const line of waitLines(wait)) output.print(line);
  }
  return 0;
};

const usage: Handler<"job usage"> = async ({ flags, arguments: { ID } }, output) => {
  const connection = await connect(flags);
  const id = await findJobId(connection, ID);
  const used = await connection.client.call(routes.getJobUsage, { params: { job_id: id }, query: {} });
  if (flags.json) output.json(used);
  else if (used.samples.length === 0) output.note("No samples: the job has not started, or it ended within a second");
  else {
    output.table(usageColumns, used.samples);
    output.note(`${used.cpu_seconds} s of CPU time, at most ${sizeText(used.peak_memory_bytes ?? 0)} of memory`);
  }
  return 0;
};

const cancel: Handler<"job cancel"> = async ({ flags, arguments: { ID } }, output) => {
  const connection = await connect(flags);
  const id = await findJobId(connection, ID);
  const { message } = await connection.client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
  output.print(message);
  return 0;
};

const handOver: Handler<"job hand-over"> = async ({ flags, arguments: { ID, USER: owner } }, output) => {
  const connection = await connect(flags);
  const params = { job_id: await findJobId(connection, ID) };
  const { message } = await connection.client.call(routes.handOverTask, {
    params,
    body: { owner, force: flags.force },
  });
  output.print(message);
  return 0;
};

const clusters: Handler<"job clusters"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const list = await client.call(routes.listClusters, { query: {} });
  if (flags.json) output.json(list);
  else if (list.length === 0) output.note("No clusters found");
  else output.table(clusterColumns, list);
  return 0;
};

export const handlers: HandlersOf<"job"> = {
  "job run": run,
  "job rerun": rerun,
  "job logs": logs,
  "job ls": ls,
  "job show": show,
  "job why": why,
  "job usage": usage,
  "job cancel": cancel,
  "job hand-over": handOver,
  "job clusters": clusters,
};
