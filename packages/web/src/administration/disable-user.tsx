/** Disables a user, and hands over the work that runs with their rights; or enables a user again. */
import { routes, type User, type Work } from "@millrace/contract";
import { useState } from "react";
import { useAction, useApi } from "../api/calls.ts";
import { Button } from "../look/button.tsx";
import { Dialog } from "../look/dialog.tsx";
import { TextField } from "../look/field.tsx";
import { Problem, Read } from "../look/states.tsx";
import { WorkList } from "../settings/work-list.tsx";

export function DisableUser({ user, onClose }: { user: User; onClose: () => void }) {
  const { username } = user;
  const isOff = user.disabled_at !== null;
  const [heir, setHeir] = useState("");
  const change = useAction(routes.updateUser);
  const work = useApi(routes.getUserWork, { params: { username }, query: {} }, { enabled: !isOff });
  const body = { disabled: !isOff, ...(isOff || heir.trim() === "" ? {} : { transfer_to: heir.trim() }) };
  return (
    <Dialog title={`${isOff ? "Enable" : "Disable"} ${username}?`} onClose={onClose}>
      <div className="stack">
        {isOff ? (
          <p>{username} can sign in again. Tokens and sessions of before do not come back.</p>
        ) : (
          <>
            <p>The tokens, sessions and password of {username} stop working at once. Running jobs continue.</p>
            <Read from={work}>{(found) => <WorkList work={found} />}</Read>
            {isHandedOver(work.data) && (
              <TextField
                label="Who takes over schedules, tasks and pipelines"
                value={heir}
                onText={setHeir}
                maxLength={39}
                hint="A user who is an editor or admin of each team concerned. Empty: nobody; they fail at their next run."
              />
            )}
          </>
        )}
        <Problem error={change.error} />
        <div className="foot row">
          <Button autoFocus onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind={isOff ? "main" : "danger"}
            busy={change.isPending}
            onClick={() => change.mutate({ params: { username }, body }, { onSuccess: onClose })}
          >
            {isOff ? "Enable" : "Disable"}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

const isHandedOver = (work: Work | undefined) =>
  work !== undefined && work.schedules.length + work.tasks.length + work.pipelines.length > 0;
