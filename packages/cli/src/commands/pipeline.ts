/** `millrace pipeline`: creates, watches, pauses, resumes, retries and repeats pipelines. */

import {
  type BackfillFailurePolicy,
  backfillFailurePolicies,
  type Pipeline,
  type PipelineOutput,
  routes,
} from "@millrace/contract";
import { allPages } from "../all-pages.ts";
import { type Connection, connect } from "../connection.ts";
import { usageError } from "../errors.ts";
import { isPartOfId } from "../job/id.ts";
import type { Output } from "../output.ts";
import { nextStep, pipelineColumns, pipelineLines } from "../pipeline/view.ts";
import type { Handler, HandlersOf } from "./handler.ts";

const create: Handler<"pipeline create"> = async ({ flags, arguments: { DATASET } }, output) => {
  if (flags.watch && !flags.run) throw usageError("--watch needs --run: without --run, the pipeline is created paused");
  const connection = await connect(flags);
  const body = { datasets: [...DATASET], review: !flags.run };
  const { pipeline } = await connection.client.call(routes.triggerPipeline, { body });
  if (flags.watch) output.note(`Created pipeline ${pipeline.name}`);
  return watchOrShow(connection, pipeline, flags, output);
};

const status: Handler<"pipeline status"> = async ({ flags, arguments: { NAME: name } }, output) => {
  const connection = await connect(flags);
  return watchOrShow(connection, await connection.client.call(routes.getPipeline, { query: { name } }), flags, output);
};

function show(pipeline: Pipeline, json: boolean, output: Output): number {
  if (json) output.json(pipeline);
  else {
    output.lines(pipelineLines(pipeline));
    const next = nextStep(pipeline);
    if (next) output.note(`next: ${next}`, "dim");
  }
  return 0;
}

const list: Handler<"pipeline ls"> = async ({ flags }, output) => {
  const { client } = await connect(flags);
  const query = {
    ...(flags.status ? { status: [flags.status] } : {}),
    ...(flags.search ? { search: flags.search } : {}),
  };
  const pipelines = await allPages(client, routes.listPipelines, query, flags.limit ?? 20);
  if (flags.json) output.json(pipelines);
  else if (pipelines.length === 0) output.note("No pipelines found. Create one: millrace pipeline create DATASET");
  else output.table(pipelineColumns(), pipelines);
  return 0;
};

type Action =
  | typeof routes.pausePipeline
  | typeof routes.resumePipeline
  | typeof routes.cancelPipeline
  | typeof routes.rerunPipeline;

const act =
  (route: Action): Handler<"pipeline pause"> =>
  async ({ flags, arguments: { NAME: name } }, output) => {
    const { client } = await connect(flags);
    return showOutput(await client.call(route, { body: { name } }), flags.json, output);
  };

/**
 * Returns the handler of a command that starts a pipeline, such as `resume`. With `--watch`, the handler then watches
 * the pipeline.
 */
const actAndWatch =
  (route: Action): Handler<"pipeline resume"> =>
  async ({ flags, arguments: { NAME: name } }, output) => {
    const connection = await connect(flags);
    const { pipeline } = await connection.client.call(route, { body: { name } });
    return watchOrShow(connection, pipeline, flags, output);
  };

async function watchOrShow(
  connection: Connection,
  pipeline: Pipeline,
  flags: { readonly watch: boolean; readonly json: boolean },
  output: Output,
): Promise<number> {
  if (!flags.watch) return show(pipeline, flags.json, output);
  const { watchPipeline } = await import("../pipeline/watch.ts");
  return watchPipeline(connection, pipeline.name, flags.json, output);
}

const showOutput = ({ pipeline }: PipelineOutput, json: boolean, output: Output) => show(pipeline, json, output);

const removeJob: Handler<"pipeline remove-job"> = async ({ flags, arguments: { NAME: name, ID } }, output) => {
  const connection = await connect(flags);
  const body = { name, job_id: await findRun(connection, name, ID) };
  return showOutput(await connection.client.call(routes.removeJobFromPipeline, { body }), flags.json, output);
};

const retryJob: Handler<"pipeline retry-job"> = async ({ flags, arguments: { NAME: name, ID } }, output) => {
  const connection = await connect(flags);
  const body = { name, job_id: await findRun(connection, name, ID) };
  const { pipeline } = await connection.client.call(routes.retryPipelineJob, { body });
  return watchOrShow(connection, pipeline, flags, output);
};

/**
 * Returns the job id of the run with the name `typed`, or with an id that begins or ends with `typed`. If no run
 * matches, returns `typed` itself, and the server reports the error.
 */
async function findRun({ client }: Connection, name: string, typed: string): Promise<string> {
  const { job_runs } = await client.call(routes.getPipeline, { query: { name } });
  const found = job_runs.filter(
    (run) => run.name === typed || [run.created_job_id, run.job_id].some((id) => id && isPartOfId(id, typed)),
  );
  if (found.length > 1)
    throw usageError(`'${typed}' matches ${found.length} runs of ${name}`, {
      why: found.map((run) => `${run.created_job_id ?? run.job_id}  ${run.name}`).join("\n"),
      next: "Type more of the id",
    });
  return found[0]?.job_id ?? typed;
}

const settings: Handler<"pipeline settings"> = async (input, output) => {
  const connection = await connect(input.flags);
  const { composeSettings } = await import("../pipeline/settings.ts");
  const body = await composeSettings(input, connection, output);
  return showOutput(await connection.client.call(routes.updatePipelineSettings, { body }), input.flags.json, output);
};

const handOver: Handler<"pipeline hand-over"> = async ({ flags, arguments: { NAME: name, USER: owner } }, output) => {
  const { client } = await connect(flags);
  const body = { name, owner, force: flags.force };
  output.print((await client.call(routes.handOverPipeline, { body })).message);
  return 0;
};

const backfill: Handler<"pipeline backfill"> = async ({ flags, arguments: { NAME } }, output) => {
  const { from, to, every, timezone, parallel } = flags;
  if (from === undefined || to === undefined)
    throw usageError("--from and --to are required", { next: "millrace pipeline backfill --help" });
  const body = {
    ...{ pipeline_name: NAME, from, to },
    ...(every === undefined ? {} : { every }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(parallel === undefined ? {} : { parallel }),
    ...(flags["on-failure"] === undefined ? {} : { on_failure: readFailurePolicy(flags["on-failure"]) }),
  };
  const { client } = await connect(flags);
  const answer = await client.call(routes.createBackfill, { body });
  const { showBackfill } = await import("./backfill.ts");
  return showBackfill(answer.backfill, flags.json, output);
};

function readFailurePolicy(text: string): BackfillFailurePolicy {
  const found = backfillFailurePolicies.find((policy) => policy === text.toLowerCase());
  if (found) return found;
  throw usageError(`--on-failure: unknown policy '${text}'`, {
    why: `Expected one of ${backfillFailurePolicies.join(", ")}`,
    next: "millrace pipeline backfill --help",
  });
}

export const handlers: HandlersOf<"pipeline"> = {
  "pipeline create": create,
  "pipeline status": status,
  "pipeline ls": list,
  "pipeline list": list,
  "pipeline pause": act(routes.pausePipeline),
  "pipeline resume": actAndWatch(routes.resumePipeline),
  "pipeline cancel": act(routes.cancelPipeline),
  "pipeline rerun": actAndWatch(routes.rerunPipeline),
  "pipeline remove-job": removeJob,
  "pipeline retry-job": retryJob,
  "pipeline settings": settings,
  "pipeline hand-over": handOver,
  "pipeline backfill": backfill,
};
