/** The form of a schedule: for a new one and for changes. */
import { catchUpPolicies, followPolicies, overlapPolicies } from "@millrace/contract";
import type { ReactNode } from "react";
import { Choice, TextField } from "../look/field.tsx";
import { errorOf, otherError } from "../look/field-errors.ts";
import { Problem } from "../look/states.tsx";
import { catchUps, follows, overlaps } from "./policies.ts";
import type { ScheduleFields } from "./schedule-fields.ts";
import "./schedules.css";
import { WhenFields } from "./when-fields.tsx";

interface FormProps {
  readonly fields: ScheduleFields;
  readonly onChange: (changes: Partial<ScheduleFields>) => void;
  readonly onSubmit: () => void;
  readonly error: unknown;
  /** Further fields at the top. */
  readonly before?: ReactNode;
  /** The buttons. */
  readonly children: ReactNode;
}

const named = [
  ...["schedule_name", "pipeline_name", "cron_expression", "timezone", "start_after"],
  ...["trigger_dataset", "quiet_seconds"],
] as const;

export function ScheduleForm({ fields, onChange, onSubmit, error, before, children }: FormProps) {
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {before}
      <TextField
        label="Name"
        required
        value={fields.schedule_name}
        error={errorOf(error, "schedule_name")}
        onText={(schedule_name) => onChange({ schedule_name })}
      />
      <WhenFields values={fields} onChange={onChange} error={error} />
      <TriggerFields fields={fields} onChange={onChange} error={error} />
      <PolicyFields fields={fields} onChange={onChange} />
      <Problem error={otherError(error, named)} />
      <div className="row wrap">{children}</div>
    </form>
  );
}

type PartProps = Pick<FormProps, "fields" | "onChange">;

const TriggerFields = ({ fields, onChange, error }: PartProps & { error: unknown }) => (
  <div className="form-row">
    <TextField
      label="Also run when this dataset changes"
      value={fields.trigger_dataset}
      error={errorOf(error, "trigger_dataset")}
      onText={(trigger_dataset) => onChange({ trigger_dataset })}
      hint="Optional. The full name of a dataset; a new version of it starts a run."
    />
    <TextField
      label="Seconds to wait after a change"
      type="number"
      min={0}
      max={604_800}
      value={fields.quiet_seconds}
      error={errorOf(error, "quiet_seconds")}
      onText={(quiet_seconds) => onChange({ quiet_seconds })}
      hint="The run starts when the dataset has had no new version for this long."
    />
  </div>
);

const PolicyFields = ({ fields, onChange }: PartProps) => (
  <div className="form-row">
    <Choice
      label="If the last run is still active"
      value={fields.overlap}
      hint={overlaps[fields.overlap][1]}
      onText={(overlap) => onChange({ overlap: overlap as typeof fields.overlap })}
    >
      {overlapPolicies.map((policy) => (
        <option key={policy} value={policy}>
          {overlaps[policy][0]}
        </option>
      ))}
    </Choice>
    <Choice
      label="After an outage"
      value={fields.catch_up}
      hint={catchUps[fields.catch_up][1]}
      onText={(catch_up) => onChange({ catch_up: catch_up as typeof fields.catch_up })}
    >
      {catchUpPolicies.map((policy) => (
        <option key={policy} value={policy}>
          {catchUps[policy][0]}
        </option>
      ))}
    </Choice>
    <Choice
      label="Scripts"
      value={fields.follow}
      hint={follows[fields.follow][1]}
      onText={(follow) => onChange({ follow: follow as typeof fields.follow })}
    >
      {followPolicies.map((policy) => (
        <option key={policy} value={policy}>
          {follows[policy][0]}
        </option>
      ))}
    </Choice>
  </div>
);
