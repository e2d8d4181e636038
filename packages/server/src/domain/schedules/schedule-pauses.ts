/** Pausing a schedule pauses the pipelines that it started, and lets them go on with it. Inside the write that holds it. */

import type { Db } from "../../store/drivers/store.ts";
import { lockPipeline, type PipelineRow, pipelinesOfSchedule } from "../../store/queries/pipelines/pipelines.ts";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import { audit } from "../access/audit.ts";
import type { Call } from "../access/call.ts";
import { type DefaultQuotas, type DiskQuotas, requireRoomForDatasets, requireRoomInQueue } from "../access/quotas.ts";
import { pauseRuns, resumeRuns } from "../pipelines/pipeline-pauses.ts";

/** Their runs follow the schedule also where somebody paused or resumed one of them by itself. */
export async function setRunsPaused(
  db: Db,
  { id, name }: ScheduleRow,
  isPaused: boolean,
  { actor, team, quotas }: Pick<Call, "actor" | "team"> & { readonly quotas: DefaultQuotas & DiskQuotas },
  now: number,
): Promise<void> {
  const [from, action] = isPaused ? (["RUNNING", "pause"] as const) : (["PAUSED", "resume"] as const);
  const found = await pipelinesOfSchedule(db, id, from);
  if (!isPaused && found.length > 0) {
    await requireRoomInQueue(db, team, quotas);
    await requireRoomForDatasets(db, team, quotas);
  }
  for (const { id: pipelineId } of found) {
    // Looked at again: while it was waited for it may have ended.
    const pipeline: PipelineRow = await lockPipeline(db, pipelineId);
    if (pipeline.status !== from) continue;
    if (isPaused) await pauseRuns(db, pipelineId, now);
    else await resumeRuns(db, pipeline, now);
    const detail = `with the schedule ${name}`;
    await audit(db, actor, { action: `pipeline.${action}`, team, target: pipeline.name, detail }, now);
  }
}
