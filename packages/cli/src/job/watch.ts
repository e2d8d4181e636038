/** Shows a followed job: the log on standard output, everything else on standard error, and an exit code at the end. */
import { followExitCode, type Job, type JobStatus, routes } from "@millrace/contract";
import type { Connection } from "../connection.ts";
import { CliError, exitCodes } from "../errors.ts";
import type { Output } from "../output.ts";
import { fetchJob } from "./find.ts";
import { followJob } from "./follow.ts";
import { statusStyle, tookText } from "./view.ts";

export interface WatchOptions {
  /** If false, the command waits for the job without printing the job's log. */
  readonly log: boolean;
  readonly json: boolean;
  readonly after?: number;
}

export async function watchJob(
  connection: Connection,
  jobId: string,
  options: WatchOptions,
  output: Output,
): Promise<number> {
  const interruption = new AbortController();
  const interrupt = () => interruption.abort();
  process.on("SIGINT", interrupt);
  try {
    const status = await followJob(connection, jobId, screen(output), {
      signal: interruption.signal,
      after: options.after ?? 0,
      statusesOnly: !options.log || options.json,
    });
    return await reportEnd(connection, { id: jobId, status }, options, output);
  } catch (error) {
    if (!interruption.signal.aborted) throw error;
    return reportDetached(jobId, output);
  } finally {
    process.off("SIGINT", interrupt);
  }
}

function screen(output: Output) {
  let lineOpen = false;
  return {
    onLog(text: string) {
      lineOpen = !text.endsWith("\n");
      return output.raw(text);
    },
    onStatus(status: JobStatus) {
      output.note(`Job is ${status}`, statusStyle(status), { below: lineOpen });
      lineOpen = false;
    },
    onBreak: (seconds: number) => output.progress(`Connection lost; trying again in ${seconds} s ...`),
  };
}

/** Tells the user that the command stopped following, and that the job continues. Ctrl-C never cancels the job. */
function reportDetached(jobId: string, output: Output): number {
  output.note("\nStopped following. The job continues.");
  output.note(`  follow it again:  millrace job logs ${jobId}`);
  output.note(`  cancel it:        millrace job cancel ${jobId}`);
  return exitCodes.interrupted;
}

/** A job whose final status is known. */
interface EndedJob {
  readonly id: string;
  readonly status: JobStatus;
}

async function reportEnd(
  connection: Connection,
  { id: jobId, status }: EndedJob,
  options: WatchOptions,
  output: Output,
): Promise<number> {
  // If the server is unreachable now, only the details are missing: the final status is already known.
  const job = await fetchJob(connection, jobId).catch((error: unknown) => {
    if (options.json) throw error;
    return undefined;
  });
  if (options.json) output.json(job);
  else for (const version of await versionsOf(connection, jobId)) output.note(`Dataset ${version}`);
  if (status === "COMPLETE") output.note(job ? `Done in ${tookText(job)}` : "Done", "dim");
  if (status === "FAILED") output.failure(jobFailure(jobId, job));
  return followExitCode(status);
}

/** Returns the dataset versions that the job created or reused; an empty list if the request fails. */
async function versionsOf({ client }: Connection, job_id: string): Promise<string[]> {
  const found = await client.call(routes.datasetJobVersions, { query: { job_id } }).catch(() => undefined);
  return (found?.dataset_versions ?? []).map(({ dataset_name, version }) => `${dataset_name}@${version}`);
}

function jobFailure(jobId: string, job: Job | undefined): CliError {
  const code = job && job.exit_code !== null ? ` with exit code ${job.exit_code}` : "";
  return new CliError(`The job failed${code}`, {
    why: job?.error_message ?? undefined,
    next: `millrace job show ${jobId}, or after fixing the cause: millrace job rerun ${jobId}`,
  });
}
