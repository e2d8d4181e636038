/** The fields of a schedule's form, as texts. */
import type {
  CatchUpPolicy,
  CreatePipelineScheduleInput,
  FollowPolicy,
  OverlapPolicy,
  PipelineScheduleItem,
  UpdatePipelineScheduleInput,
} from "@millrace/contract";
import type { WhenValues } from "./when-fields.tsx";

export interface ScheduleFields extends Required<WhenValues> {
  readonly schedule_name: string;
  readonly trigger_dataset: string;
  readonly quiet_seconds: string;
  readonly overlap: OverlapPolicy;
  readonly catch_up: CatchUpPolicy;
  readonly follow: FollowPolicy;
}

export const emptyFields = (timezone: string): ScheduleFields => ({
  schedule_name: "",
  cron_expression: "",
  timezone,
  start_after: "",
  trigger_dataset: "",
  quiet_seconds: "60",
  overlap: "skip",
  catch_up: "one",
  follow: "none",
});

export const fieldsOf = (schedule: PipelineScheduleItem): ScheduleFields => ({
  schedule_name: schedule.schedule_name,
  cron_expression: schedule.cron_expression ?? "",
  timezone: schedule.timezone,
  start_after: schedule.start_after ?? "",
  trigger_dataset: schedule.trigger_dataset ?? "",
  quiet_seconds: String(schedule.quiet_seconds),
  overlap: schedule.overlap,
  catch_up: schedule.catch_up,
  follow: schedule.follow,
});

type Values = Omit<CreatePipelineScheduleInput, "pipeline_name">;

const valuesOf = ({ quiet_seconds, ...fields }: ScheduleFields): Values => ({
  ...fields,
  ...(quiet_seconds.trim() === "" ? {} : { quiet_seconds: Number(quiet_seconds) }),
});

export const creationOf = (fields: ScheduleFields, pipeline_name: string): CreatePipelineScheduleInput => ({
  ...valuesOf(fields),
  pipeline_name,
});

/** Returns only what differs: an unchanged field is not sent, so that somebody else's change of it stays. */
export function changesOf(before: ScheduleFields, after: ScheduleFields, id: number): UpdatePipelineScheduleInput {
  const changed = Object.entries(valuesOf(after)).filter(
    ([name]) => before[name as keyof ScheduleFields] !== after[name as keyof ScheduleFields],
  );
  return { ...Object.fromEntries(changed), schedule_id: id };
}
