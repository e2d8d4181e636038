/** Creates a schedule from a pipeline. */
import { routes } from "@millrace/contract";
import { useId, useState } from "react";
import { useLocation } from "wouter";
import { useAction, useApi } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { useUrlState } from "../api/url-state.ts";
import { Button, ButtonLink } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { TextField } from "../look/field.tsx";
import { errorOf } from "../look/field-errors.ts";
import { Screen } from "../look/screen.tsx";
import { schedulePath, schedulesPath } from "../paths/schedule-paths.ts";
import { copyNewSchedule } from "./copy-schedule.ts";
import { creationOf, emptyFields } from "./schedule-fields.ts";
import { ScheduleForm } from "./schedule-form.tsx";
import { ownZone } from "./zoned-time.ts";

export default function NewScheduleScreen() {
  const team = useTeam();
  const [, go] = useLocation();
  const [given] = useUrlState("pipeline");
  const [pipeline, setPipeline] = useState(given);
  const [fields, setFields] = useState(() => emptyFields(ownZone));
  const create = useAction(routes.createSchedule);
  const submit = () =>
    create.mutate(
      { body: creationOf(fields, pipeline) },
      { onSuccess: ({ schedule }) => go(schedulePath(team, schedule.id)) },
    );
  return (
    <Screen title="New schedule">
      <p className="soft">
        A schedule runs copies of a pipeline. It keeps its own copy: later changes of the pipeline do not affect it.
      </p>
      <ScheduleForm
        fields={fields}
        onChange={(changes) => setFields({ ...fields, ...changes })}
        onSubmit={submit}
        error={create.error}
        before={<PipelineField value={pipeline} onText={setPipeline} error={errorOf(create.error, "pipeline_name")} />}
      >
        <Button kind="main" type="submit" busy={create.isPending} refusal={useRefusal("editor")}>
          Create the schedule
        </Button>
        <ButtonLink href={schedulesPath(team)}>Back to the list</ButtonLink>
        <CopyAs actions={[copyNewSchedule(creationOf(fields, pipeline))]} />
      </ScheduleForm>
    </Screen>
  );
}

interface PipelineFieldProps {
  readonly value: string;
  readonly onText: (name: string) => void;
  readonly error: string | undefined;
}

/** A field for the name of a pipeline, with the newest ones as proposals. */
export function PipelineField({ value, onText, error }: PipelineFieldProps) {
  const list = useId();
  const { data: pipelines = [] } = useApi(routes.listPipelines, { query: { limit: 50 } });
  return (
    <>
      <TextField
        label="Pipeline"
        required
        list={list}
        value={value}
        error={error}
        onText={onText}
        hint="The pipeline to copy. It need not have run, and does not change."
      />
      <datalist id={list}>
        {pipelines.map(({ name, triggered_from }) => (
          <option key={name} value={name}>
            {triggered_from}
          </option>
        ))}
      </datalist>
    </>
  );
}
