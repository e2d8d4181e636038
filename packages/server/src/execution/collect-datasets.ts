/**
 * Reads from the warehouse which dataset versions a job created, before the job's result is stored. So a client that
 * sees that the job has ended also sees its datasets. If the server dies before the result is stored, the attempt is
 * still open, and the next server process reads the versions again.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { jobEnds } from "../datachain/statuses.ts";
import { libraryTime } from "../datachain/times.ts";
import { type Collected, readCollected, TooMuch } from "../domain/datasets/parse-collected.ts";
import { maskMetrics } from "../job-logs/job-log.ts";
import { isUnavailable } from "../store/drivers/unavailable.ts";
import { WarehouseBusy, type Warehouses, WarehouseUnusable } from "../warehouses/warehouses.ts";
import type { Result } from "./end-attempt.ts";
import type { ExecutionContext } from "./execution-context.ts";
import type { WarehouseMeasures } from "./measure-warehouses.ts";

export interface CollectContext extends ExecutionContext {
  readonly warehouses: Warehouses;
  readonly measures: WarehouseMeasures;
}

const tries = 3;
/** Maximum number of tries while the warehouse is locked. Each try waits a minute for the lock. */
const busyTries = 10;

export interface CollectedJob {
  readonly teamId: number;
  readonly jobId: string;
  readonly startedAt: string;
  readonly canceled: boolean;
  readonly result: Result;
}

/**
 * Returns the job's result with its datasets added. If the warehouse cannot be read, returns a result with the status
 * FAILED.
 */
export async function collectDatasets(context: CollectContext, job: CollectedJob): Promise<Result> {
  const { result } = job;
  // Measure now, while the attempt is open: otherwise the next job would be charged for what this one wrote last.
  const measured = context.measures
    .measure(job.teamId)
    .catch((error) => context.log.warn({ err: error, team: job.teamId }, "could not measure the team's warehouse"));
  try {
    const { metrics, ...collected } = await collect(context, job);
    await measured;
    const told =
      metrics === null || "metrics" in result.changes
        ? {}
        : { metrics: await maskMetrics(context, job.jobId, metrics) };
    return { ...result, changes: { ...result.changes, ...told }, collected: { teamId: job.teamId, ...collected } };
  } catch (error) {
    if (isUnavailable(error)) throw error;
    const expected = error instanceof WarehouseUnusable || error instanceof TooMuch;
    if (!expected)
      context.log.error({ err: error, job: job.jobId }, "could not read the job's datasets from the team's warehouse");
    return withoutDatasets(result, expected ? error.message : undefined);
  }
}

/** Returns the result with the status FAILED and the reason why the job's datasets were not registered. */
export function withoutDatasets(
  { collected: _, ...result }: Result,
  why = "The server could not register the dataset versions that the job created. The server's log has the cause.",
): Result {
  const own = result.status === "FAILED" ? result.changes.error_message : null;
  return { ...result, status: "FAILED", changes: { ...result.changes, error_message: own ? `${own} ${why}` : why } };
}

async function collect({ warehouses, log }: CollectContext, job: CollectedJob): Promise<Collected> {
  const { teamId, jobId, startedAt, canceled, result } = job;
  const request = {
    jobId,
    startedAt: libraryTime(startedAt),
    finishedAt: libraryTime(result.changes.finished_at ?? new Date().toISOString()),
    status: canceled ? jobEnds.CANCELED : jobEnds[result.status],
    errorMessage: result.changes.error_message ?? "",
  };
  for (let attempt = 1; ; attempt++) {
    try {
      return await readCollected(await warehouses.collect(teamId, request));
    } catch (error) {
      const settled =
        error instanceof TooMuch || (error instanceof WarehouseUnusable && !(error instanceof WarehouseBusy));
      if (settled || attempt >= (error instanceof WarehouseBusy ? busyTries : tries)) throw error;
      log.warn({ err: error, job: jobId }, "could not read the job's datasets from the team's warehouse; trying again");
      await sleep(500 * attempt);
    }
  }
}
