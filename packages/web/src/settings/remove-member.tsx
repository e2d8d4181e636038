/** Removes a member: shows the work that runs with their rights, and hands it over. */
import { type Member, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction, useApi } from "../api/calls.ts";
import { useSession } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { Dialog } from "../look/dialog.tsx";
import { Check, Choice } from "../look/field.tsx";
import { Problem, Read } from "../look/states.tsx";
import { WorkList } from "./work-list.tsx";

export function RemoveMember({ member: { username }, onClose }: { member: Member; onClose: () => void }) {
  const team = useTeam();
  const [heir, setHeir] = useState("");
  const [force, setForce] = useState(false);
  const remove = useAction(routes.removeMember);
  const params = { team_name: team, username };
  const query = heir === "" ? {} : { transfer_to: heir };
  const work = useApi(routes.getMemberWork, { params, query });
  const submit = () =>
    remove.mutate({ params, query: { ...query, ...(force ? { force } : {}) } }, { onSuccess: onClose });
  return (
    <Dialog title={`Remove ${username} from ${team}?`} onClose={onClose}>
      <div className="stack">
        <p>{username} loses access to the team at once. Running jobs continue.</p>
        <Read from={work}>{(found) => <WorkList work={found} />}</Read>
        <HeirChoice username={username} value={heir} onText={setHeir} />
        {work.data?.credentials.some(({ replaced_by }) => replaced_by === "missing") && (
          <Check
            label="Hand over even though the new owner lacks credentials that the runs use"
            checked={force}
            onCheck={setForce}
          />
        )}
        <Problem error={remove.error ?? (work.data?.transfer_refused && new Error(work.data.transfer_refused))} />
        <div className="foot row">
          <Button autoFocus onClick={onClose}>
            Keep the member
          </Button>
          <Button kind="danger" busy={remove.isPending} onClick={submit}>
            {heir === "" ? "Remove" : "Hand over and remove"}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** The caller and the team's service account can take over work; administrators of the server may name anybody. */
function HeirChoice({ username, value, onText }: { username: string; value: string; onText: (heir: string) => void }) {
  const team = useTeam();
  const me = useSession();
  const members = useApi(routes.listMembers, { params: { team_name: team } });
  const heirs = (members.data ?? []).filter(
    (one) =>
      one.username !== username &&
      one.role !== "viewer" &&
      !one.disabled &&
      (me.is_admin || one.service_account || one.username === me.username),
  );
  return (
    <Choice
      label="Who takes over schedules, tasks and pipelines"
      value={value}
      onText={onText}
      hint="Without a new owner they fail at their next run, until somebody takes them over."
    >
      <option value="">Nobody</option>
      {heirs.map((one) => (
        <option key={one.username} value={one.username}>
          {one.username}
          {one.service_account ? " (service account)" : ""}
        </option>
      ))}
    </Choice>
  );
}
