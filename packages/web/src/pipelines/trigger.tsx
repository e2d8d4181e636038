/** What started a pipeline: a schedule, for a moment, or a user. */
import type { Pipeline } from "@millrace/contract";
import { Icon } from "../look/icon.tsx";

export const Trigger = ({ pipeline: { schedule_name, created_by } }: { pipeline: Pipeline }) =>
  schedule_name === null ? (
    <span className="row nowrap">
      <Icon name="person" />
      {created_by}
    </span>
  ) : (
    <span className="row nowrap" title={`The schedule ${schedule_name}`}>
      <Icon name="schedules" />
      {schedule_name}
    </span>
  );

/** The datasets that a pipeline rebuilds, in a few words. */
export const datasetsInWords = ({ triggered_from, datasets }: Pipeline) =>
  datasets.length > 1 ? `${triggered_from} and ${datasets.length - 1} more` : triggered_from;
