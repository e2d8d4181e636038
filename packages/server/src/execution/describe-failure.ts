/** Why a job failed: the end of its log, masked, and its exit tell. */
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

/** Bytes of a log that are looked at first, and where they do not tell. */
const tails = [64 * 1024, 256 * 1024];

/** `queryType`: undefined where the job is gone. `overLimit`: the limit that ended it, which is the reason then. */
export async function describeFailure(
  context: FailureContext,
  jobId: string,
  exit: Exit,
  queryType: QueryType | undefined,
  overLimit: string | null,
): Promise<Failure> {
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
