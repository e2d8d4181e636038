/**
 * Watches a pipeline until it ends, and returns an exit code. On a terminal, redraws the pipeline; elsewhere, prints a
 * line for each change.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { isUnfinished, type Pipeline, routes, statusGroups, watchExitCode } from "@millrace/contract";
import { type Connection, UnreachableError } from "../connection.ts";
import { CliError, exitCodes } from "../errors.ts";
import type { Output } from "../output.ts";
import { nextStep, pipelineLines } from "./view.ts";

const interval = 500;
/**
 * Maximum number of failed requests in a row. This many requests take longer than a restart of the server, so watching
 * survives a restart.
 */
const patience = 120;

export async function watchPipeline(
  connection: Connection,
  name: string,
  json: boolean,
  output: Output,
): Promise<number> {
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  process.on("SIGINT", interrupt);
  try {
    const show = json ? () => {} : screen(output);
    const last = await watch(connection, name, { show, output, signal: interruption.signal });
    if (json) output.json(last);
    if (last.status === "FAILED") output.failure(pipelineFailure(last));
    return watchExitCode(last.status);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    output.note(
      `\nStopped watching. The pipeline continues.\n  watch it again:  millrace pipeline status ${name} --watch`,
    );
    return exitCodes.interrupted;
  } finally {
    process.off("SIGINT", interrupt);
  }
}

const neverRuns = (name: string) =>
  new CliError(`Cannot watch ${name}: this pipeline is a template and never runs itself`, {
    why: "Schedules and backfills run copies of their template",
    next: "millrace schedule ls, millrace backfill ls",
  });

/** How to show each state of the pipeline, and the signal to stop watching. */
interface Watcher {
  readonly show: (pipeline: Pipeline) => void;
  readonly output: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

async function watch({ client }: Connection, name: string, { show, output, signal }: Watcher): Promise<Pipeline> {
  for (let silent = 0; ; ) {
    try {
      const pipeline = await client.call(routes.getPipeline, { query: { name } }, { signal });
      silent = 0;
      output.clearProgress();
      if (pipeline.status === "PENDING") throw neverRuns(name);
      show(pipeline);
      if (isOver(pipeline)) return pipeline;
    } catch (error) {
      if (!(error instanceof UnreachableError) || ++silent > patience) throw error;
      output.progress("Connection lost; trying again ...");
    }
    await sleep(interval, undefined, { signal });
  }
}

/**
 * Tells whether a pipeline has ended. A failed pipeline may still have active jobs; it has ended when these have ended.
 */
const isOver = ({ status, job_runs }: Pipeline) =>
  !isUnfinished(status) && !job_runs.some((run) => statusGroups["ACTIVE"]?.includes(run.status));

function screen(output: Output): (pipeline: Pipeline) => void {
  if (output.rows === undefined) return changes(output);
  let drawn = 0;
  return (pipeline) => {
    // The last line of the terminal stays free for the cursor.
    drawn = output.redraw(pipelineLines(pipeline, (output.rows ?? 24) - 1), drawn);
  };
}

/** Returns a function that prints what changed since its previous call. For output that is not a terminal. */
function changes(output: Output): (pipeline: Pipeline) => void {
  const seen = new Map<string, string>();
  const tell = (key: string, status: string, text: string) => {
    if (seen.get(key) === status) return;
    seen.set(key, status);
    output.print(text);
  };
  return ({ name, status, completed, total, job_runs }) => {
    for (const run of job_runs)
      tell(
        run.job_id,
        `${run.status} ${run.created_job_id}`,
        `${run.name}\t${run.status}\t${run.created_job_id ?? ""}`,
      );
    tell("", status, `${name}\t${status}\t${completed}/${total}`);
  };
}

const pipelineFailure = (pipeline: Pipeline) =>
  new CliError(`The pipeline ${pipeline.name} failed`, {
    why: pipeline.error_message ?? undefined,
    next: nextStep(pipeline),
  });
