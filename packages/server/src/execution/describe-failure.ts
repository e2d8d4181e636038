/** Finds out why a job failed, from its exit code and the end of its masked log. */
import type { QueryType } from "@millrace/contract";
import type { Exit } from "../engines/engine.ts";
import { type JobLogContext, openNewestLog } from "../job-logs/job-log.ts";
import type { Disk } from "../machine/disk.ts";
import { plainText } from "../reasons/log-lines.ts";
import { type Reason, reasonOf, type Tail } from "../reasons/reason.ts";
import { runtimeOf } from "../runtimes/runtimes.ts";

interface Failure {
  readonly error_message: string;
  readonly error_stack: string | null;
}

interface FailureContext extends JobLogContext {
  readonly disk: Disk;
}

/**
 * Numbers of bytes at the end of the log that are searched for the reason of a failure. The larger part is searched
 * only if the smaller part contains no reason.
 */
const tails = [64 * 1024, 256 * 1024];

/** A job whose newest attempt failed. */
interface FailedJob {
  readonly jobId: string;
  /** Query type of the job; undefined if the job has been deleted. */
  readonly queryType: QueryType | undefined;
  readonly exit: Exit;
  /** The limit that the attempt exceeded, as a sentence for the job's owner; null if no limit ended the attempt. */
  readonly overLimit: string | null;
}

/** Returns the error message and the stack trace of a failed job. An exceeded limit takes precedence over the log. */
export async function describeFailure(context: FailureContext, failed: FailedJob): Promise<Failure> {
  const { jobId, queryType, exit, overLimit } = failed;
  const runtime = queryType && runtimeOf(queryType);
  const ending = { ...exit, runtime, diskFull: await context.disk.isFull() };
  let reason: Reason | undefined;
  for (const bytes of tails) {
    reason = reasonOf(ending, await logTail(context, jobId, bytes));
    if (reason.found) break;
  }
  return { error_message: overLimit ?? reason?.message ?? "", error_stack: reason?.stack ?? null };
}

async function logTail(context: JobLogContext, jobId: string, bytes: number): Promise<Tail> {
  const { log } = await openNewestLog(context, jobId);
  log.end();
  try {
    const start = Math.max(0, (await log.size()) - bytes);
    const text = (await log.read(start, bytes)).toString("utf8");
    return { plain: log.mask(plainText(text)), cut: start > 0 };
  } finally {
    await log.close();
  }
}
