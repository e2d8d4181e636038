/**
 * A new version of a dataset leaves a notice for each schedule that the dataset fires, in the write that registers the
 * version. The notice is due once the dataset has been quiet for a while. What a schedule's own runs make, or runs that
 * they led to, never fires that schedule: each run carries the chain of schedules that led to it.
 */

import type { Db } from "../../store/drivers/store.ts";
import { chainOfJob } from "../../store/queries/jobs/chains.ts";
import { putNotice, schedulesFiredBy } from "../../store/queries/schedules/schedule-notices.ts";
import { iso } from "../time/clock.ts";

/** Ids of schedules, as rows keep them. */
export const readChain = (chain: string | null): number[] => (chain ? (JSON.parse(chain) as number[]) : []);
export const writeChain = (ids: readonly number[]): string => JSON.stringify([...new Set(ids)]);

/** A version that has just been registered. */
export interface NewVersion {
  readonly datasetId: number;
  /** In full, with its version. */
  readonly name: string;
}

/** Inside the write that registers them; `jobId` is whose doing they are. */
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
