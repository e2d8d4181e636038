/** Changes the name and the times of a task. */
import { routes, type Task } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { Button } from "../look/button.tsx";
import { TextField } from "../look/field.tsx";
import { errorOf, otherError } from "../look/field-errors.ts";
import { Problem } from "../look/states.tsx";
import { WhenFields } from "./when-fields.tsx";

const fieldsOf = (task: Task) => ({
  name: task.name ?? "",
  cron_expression: task.cron_expression ?? "",
  timezone: task.timezone,
  start_after: task.start_after ?? "",
});
type Fields = ReturnType<typeof fieldsOf>;

export function TaskSettings({ task, onClose }: { task: Task; onClose: () => void }) {
  const [before] = useState(() => fieldsOf(task));
  const [fields, setFields] = useState(before);
  const update = useAction(routes.updateTask);
  const change = (changes: Partial<Fields>) => setFields({ ...fields, ...changes });
  const submit = () => {
    const names = Object.keys(fields) as (keyof Fields)[];
    const body = Object.fromEntries(
      names.filter((name) => fields[name] !== before[name]).map((name) => [name, fields[name]]),
    );
    update.mutate({ params: { job_id: task.id }, body }, { onSuccess: onClose });
  };
  return (
    <form
      className="card stack"
      aria-label="Edit the task"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <TextField
        label="Name"
        value={fields.name}
        error={errorOf(update.error, "name")}
        onText={(name) => change({ name })}
      />
      <WhenFields values={fields} onChange={change} error={update.error} />
      <Problem error={otherError(update.error, ["name", "cron_expression", "timezone", "start_after"])} />
      <div className="row wrap">
        <Button kind="main" type="submit" busy={update.isPending}>
          Save
        </Button>
        <Button onClick={onClose}>Back</Button>
      </div>
    </form>
  );
}
