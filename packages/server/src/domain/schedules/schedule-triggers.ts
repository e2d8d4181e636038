/**
 * Triggers. A trigger is the dataset whose new versions fire a schedule. No schedule may trigger itself, directly or
 * through other schedules.
 */
import {
  ApiError,
  type CreatePipelineScheduleInput,
  invalid,
  type PipelineScheduleItem,
  type UpdatePipelineScheduleInput,
} from "@millrace/contract";
import type { Db } from "../../store/drivers/store.ts";
import { findDataset, placedDataset } from "../../store/queries/datasets/datasets.ts";
import { datasetsMadeBy, triggeredSchedules, triggersOf } from "../../store/queries/schedules/schedule-notices.ts";
import type { ScheduleRow } from "../../store/queries/schedules/schedules.ts";
import type { Principal, Team } from "../access/principals.ts";
import { fullName, readReference } from "../datasets/dataset-names.ts";
import { noSuchDataset } from "../datasets/dataset-namesakes.ts";

export type Trigger = Pick<ScheduleRow, "trigger_dataset_id" | "quiet_seconds">;

type TriggerInput = Pick<
  CreatePipelineScheduleInput | UpdatePipelineScheduleInput,
  "trigger_dataset" | "quiet_seconds"
>;

/**
 * The trigger fields of a schedule without a trigger dataset. `quiet_seconds` is the default: if new versions follow
 * each other within this time, they fire the schedule only once.
 */
export const noTrigger: Trigger = { trigger_dataset_id: null, quiet_seconds: 60 };

/**
 * Returns the trigger after a change. An absent or null field keeps its value; an empty `trigger_dataset` removes the
 * trigger.
 */
export async function readTrigger(
  db: Db,
  { team, principal }: { readonly team: Team; readonly principal: Principal },
  { trigger_dataset: text, quiet_seconds }: TriggerInput,
  present: Trigger,
): Promise<Trigger> {
  const quiet = { quiet_seconds: quiet_seconds ?? present.quiet_seconds };
  if (text === null || text === undefined) return { ...quiet, trigger_dataset_id: present.trigger_dataset_id };
  if (text.trim() === "") return { ...quiet, trigger_dataset_id: null };
  const reference = readReference(text.replace(/^ds:\/\//, ""), principal.username, "trigger_dataset");
  if (reference.version)
    throw invalid(
      "trigger_dataset",
      "a dataset name without @version, because every new version fires the schedule",
      text,
    );
  const dataset = await findDataset(db, team.id, reference);
  if (dataset) return { ...quiet, trigger_dataset_id: dataset.id };
  throw await noSuchDataset(db, team, reference);
}

export type ShownTrigger = Pick<
  PipelineScheduleItem,
  "trigger_dataset" | "quiet_seconds" | "trigger_version" | "trigger_due_at"
>;

/** Returns a function that takes a schedule and returns the API fields that describe its trigger. */
export async function shownTriggers(db: Db, rows: readonly ScheduleRow[]): Promise<(row: ScheduleRow) => ShownTrigger> {
  const ids = rows.filter(({ trigger_dataset_id }) => trigger_dataset_id !== null).map(({ id }) => id);
  const found = await triggersOf(db, ids);
  return ({ id, quiet_seconds }) => {
    const trigger = found.get(id);
    return {
      trigger_dataset: trigger ? fullName(trigger) : null,
      quiet_seconds,
      trigger_version: trigger?.version ?? null,
      trigger_due_at: trigger?.due_at ?? null,
    };
  };
}

type Fired = Pick<ScheduleRow, "id" | "name" | "pipeline_id" | "trigger_dataset_id">;

/**
 * One step in a chain of triggers: a schedule (`schedule`), and the step before it. Runs of the schedule in `before`
 * create the dataset that fires this schedule.
 */
interface Step {
  readonly schedule: Fired;
  readonly before: Step | undefined;
}

/**
 * Throws if runs of a schedule would create the schedule's own trigger dataset, directly or through other schedules.
 * The error names the cycle.
 */
export async function requireNoCircle(db: Db, team: Team, first: Fired): Promise<void> {
  if (first.trigger_dataset_id === null) return;
  const others = (await triggeredSchedules(db, team.id)).filter(({ id }) => id !== first.id);
  const seen = new Set<number>();
  const queue: Step[] = [{ schedule: first, before: undefined }];
  for (let step = queue.shift(); step; step = queue.shift()) {
    const made = await datasetsMadeBy(db, step.schedule.pipeline_id);
    if (made.has(first.trigger_dataset_id)) throw await circle(db, step, first.trigger_dataset_id);
    for (const schedule of others) {
      if (seen.has(schedule.id) || !made.has(schedule.trigger_dataset_id ?? 0)) continue;
      seen.add(schedule.id);
      queue.push({ schedule, before: step });
    }
  }
}

/** Returns the error that names the schedules and datasets of a cycle. */
async function circle(db: Db, last: Step, trigger: number): Promise<ApiError> {
  const nameOf = async (id: number | null) => {
    const dataset = id === null ? undefined : await placedDataset(db, id);
    return dataset
      ? fullName({ namespace: dataset.namespace.name, project: dataset.project.name, name: dataset.name })
      : "a dataset";
  };
  let text = `makes ${await nameOf(trigger)}, which fires ${firstOf(last).schedule.name}`;
  for (let step: Step | undefined = last; step; step = step.before)
    text = step.before
      ? `makes ${await nameOf(step.schedule.trigger_dataset_id)}, which fires ${step.schedule.name}, which ${text}`
      : `${step.schedule.name} ${text}`;
  return new ApiError(
    "invalid",
    `trigger_dataset: the schedule would trigger itself: ${text}. A pipeline rebuilds everything upstream of its datasets. Create a paused pipeline, remove the run that makes ${await nameOf(trigger)}, and create the schedule from that pipeline.`,
  );
}

const firstOf = (step: Step): Step => (step.before ? firstOf(step.before) : step);
