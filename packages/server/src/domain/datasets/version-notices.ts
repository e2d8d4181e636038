/**
 * Fires schedules on new dataset versions. The transaction that registers a version also writes a notice (a row in
 * `schedule_notices`) for each schedule that the dataset triggers. The notice is due once the dataset has had no new
 * version for the schedule's `quiet_seconds`. To prevent loops, each run records the schedules that led to it, called
 * its chain; versions that the run creates do not fire these schedules.
 */

import type { Db } from "../../store/drivers/store.ts";
import { chainOfJob } from "../../store/queries/jobs/chains.ts";
import { putNotice, schedulesFiredBy } from "../../store/queries/schedules/schedule-notices.ts";
import { iso } from "../time/clock.ts";

/** Parses the column `chain`, which has the ids of the schedules that led to a run. */
export const readChain = (chain: string | null): number[] => (chain ? (JSON.parse(chain) as number[]) : []);
/** Returns the value of the column `chain` for these schedule ids, without duplicates. */
export const writeChain = (ids: readonly number[]): string => JSON.stringify([...new Set(ids)]);

/** A version that has just been registered. */
export interface NewVersion {
  readonly datasetId: number;
  /** Full name with version, such as `namespace.project.name@1.0.0`. */
  readonly name: string;
}

/**
 * Writes a notice (a row in `schedule_notices`) for each schedule that the new versions trigger. Call it in the
 * transaction that registers the versions. `jobId` is the job that created the versions; null if an external producer
 * registered them without a job.
 */
export async function noticeVersions(
  db: Db,
  versions: readonly NewVersion[],
  jobId: string | null,
  now: number,
): Promise<void> {
  if (versions.length === 0) return;
  const newest = new Map(versions.map(({ datasetId, name }) => [datasetId, name]));
  const schedules = await schedulesFiredBy(db, [...newest.keys()]);
  if (schedules.length === 0) return;
  const chain = readChain(jobId === null ? null : await chainOfJob(db, jobId));
  for (const { id, team_id, trigger_dataset_id, quiet_seconds } of schedules) {
    if (chain.includes(id)) continue;
    const notice = {
      schedule_id: id,
      team_id,
      version: newest.get(trigger_dataset_id ?? 0) ?? "",
      chain: writeChain(chain),
      noticed_at: iso(now),
      due_at: iso(now + quiet_seconds * 1000),
    };
    await putNotice(db, notice, (a, b) => writeChain([...readChain(a), ...readChain(b)]));
  }
}
