/**
 * Reads back what a job did to its team's datasets, before its result is accepted: whoever sees that a job has ended sees
 * what it made. A server that dies meanwhile does it again: the attempt is open until then.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { jobEnds } from "../datachain/statuses.ts";
import { libraryTime } from "../datachain/times.ts";
import { type Collected, readCollected, TooMuch } from "../domain/datasets/parse-collected.ts";
import type { Python } from "../engines/engine.ts";
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
/** Each waits a minute for whoever has the store. */
const busyTries = 10;

export interface CollectedJob {
  readonly teamId: number;
  readonly jobId: string;
  readonly startedAt: string;
  readonly canceled: boolean;
  /** Which worked with them. */
  readonly python: Python | null;
  readonly result: Result;
}

/** The result as it is to be accepted. A store that cannot be read fails the job: what it made, nobody can tell. */
export async function collectDatasets(context: CollectContext, job: CollectedJob): Promise<Result> {
  const { result } = job;
  // What it added last is charged to it, while it is open, not to whoever works with the store next.
  const measured = context.measures
    .measure(job.teamId)
    .catch((error) => context.log.warn({ err: error, team: job.teamId }, "the team's warehouse was not measured"));
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
    if (!expected) context.log.error({ err: error, job: job.jobId }, "datasets were not read back");
    return withoutDatasets(result, expected ? error.message : undefined);
  }
}

/** What the job says where its datasets are not in the registry. */
export function withoutDatasets(
  { collected: _, ...result }: Result,
  why = "What the job did to the team's datasets could not be kept.",
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
      return await readCollected(await warehouses.collect(teamId, request, job.python));
    } catch (error) {
      const settled =
        error instanceof TooMuch || (error instanceof WarehouseUnusable && !(error instanceof WarehouseBusy));
      if (settled || attempt >= (error instanceof WarehouseBusy ? busyTries : tries)) throw error;
      log.warn({ err: error, job: jobId }, "datasets are read back again");
      await sleep(500 * attempt);
    }
  }
}
