/** Changes a schedule. */
import { type PipelineSchedule, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { changesOf, fieldsOf } from "./schedule-fields.ts";
import { ScheduleForm } from "./schedule-form.tsx";

export function ScheduleSettings({ schedule }: { schedule: PipelineSchedule }) {
  const [before, setBefore] = useState(() => fieldsOf(schedule));
  const [fields, setFields] = useState(before);
  const update = useAction(routes.updateSchedule);
  const refusal = useRefusal("editor");
  const isChanged = JSON.stringify(before) !== JSON.stringify(fields);
  const submit = () =>
    update.mutate(
      { body: changesOf(before, fields, schedule.id) },
      {
        onSuccess: ({ schedule: now }) => {
          setBefore(fieldsOf(now));
          setFields(fieldsOf(now));
        },
      },
    );
  return (
    <ScheduleForm
      fields={fields}
      onChange={(changes) => setFields({ ...fields, ...changes })}
      onSubmit={submit}
      error={update.error}
    >
      <Button
        kind="main"
        type="submit"
        busy={update.isPending}
        refusal={refusal ?? (isChanged ? undefined : "Nothing has changed.")}
      >
        Save
      </Button>
      {isChanged && <Button onClick={() => setFields(before)}>Undo the changes</Button>}
      <span role="status" className="good">
        {update.isSuccess && !isChanged ? "Saved" : ""}
      </span>
    </ScheduleForm>
  );
}
