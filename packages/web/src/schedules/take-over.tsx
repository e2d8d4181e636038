/** Gives a schedule or a task another owner, whose rights and credentials its runs get. */
import { type PipelineScheduleItem, routes, type Task } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { useRefusal, useSession } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { Dialog } from "../look/dialog.tsx";
import { Check, TextField } from "../look/field.tsx";
import { Form } from "../look/form.tsx";

/** The new owner, and whether to hand over even if they lack credentials. */
interface Handover {
  readonly owner: string;
  readonly force: boolean;
}

interface OwnerProps {
  readonly name: string;
  readonly owner: string;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onGive: (handover: Handover, done: () => void) => void;
}

export function TakeOverSchedule({ schedule }: { schedule: PipelineScheduleItem }) {
  const update = useAction(routes.updateSchedule);
  return (
    <OwnerButton
      name={schedule.schedule_name}
      owner={schedule.owner.username}
      busy={update.isPending}
      error={update.error}
      onGive={(handover, onSuccess) =>
        update.mutate({ body: { schedule_id: schedule.id, ...handover } }, { onSuccess })
      }
    />
  );
}

export function TakeOverTask({ task }: { task: Task }) {
  const give = useAction(routes.handOverTask);
  return (
    <OwnerButton
      name={task.name ?? task.id}
      owner={task.owner}
      busy={give.isPending}
      error={give.error}
      onGive={(handover, onSuccess) => give.mutate({ params: { job_id: task.id }, body: handover }, { onSuccess })}
    />
  );
}

function OwnerButton(props: OwnerProps) {
  const [asks, setAsks] = useState(false);
  const refusal = useRefusal("editor");
  return (
    <>
      <Button icon="person" refusal={refusal} onClick={() => setAsks(true)}>
        Change owner
      </Button>
      {asks && <OwnerDialog {...props} onClose={() => setAsks(false)} />}
    </>
  );
}

function OwnerDialog({ name, owner, busy, error, onGive, onClose }: OwnerProps & { onClose: () => void }) {
  const { username } = useSession();
  const team = useTeam();
  const [next, setNext] = useState(owner === username ? `${team}-service` : username);
  const [force, setForce] = useState(false);
  return (
    <Dialog title={`Change the owner of “${name}”`} onClose={onClose}>
      <Form
        action="Change the owner"
        onSubmit={() => onGive({ owner: next.trim(), force }, onClose)}
        busy={busy}
        error={error}
        onCancel={onClose}
      >
        <p>
          Runs have the rights and credentials of the owner, who is {owner} now. You can take it over yourself, or let
          it run as the team's service account, which never leaves.
        </p>
        <TextField
          label="New owner"
          name="owner"
          required
          value={next}
          onText={setNext}
          hint={`You are ${username}.`}
        />
        <Check
          label="Change it even if runs use credentials that the new owner does not have. Such runs will fail."
          checked={force}
          onCheck={setForce}
        />
      </Form>
    </Dialog>
  );
}
