/** Deletes a schedule, after a question. */
import { type PipelineScheduleItem, routes } from "@millrace/contract";
import { useState } from "react";
import { useLocation } from "wouter";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { schedulesPath } from "../paths/schedule-paths.ts";

export function RemoveSchedule({ schedule }: { schedule: PipelineScheduleItem }) {
  const [asks, setAsks] = useState(false);
  const refusal = useRefusal("editor");
  const team = useTeam();
  const [, go] = useLocation();
  const remove = useAction(routes.deleteSchedule, () => go(schedulesPath(team)));
  return (
    <>
      <Button kind="danger" icon="bin" refusal={refusal} onClick={() => setAsks(true)}>
        Delete
      </Button>
      {asks && (
        <AskFirst
          title={`Delete ${schedule.schedule_name}?`}
          action="Delete the schedule"
          busy={remove.isPending}
          error={remove.error}
          onConfirm={() => remove.mutate({ body: { schedule_id: schedule.id } })}
          onClose={() => setAsks(false)}
        >
          <p>
            The schedule, its history and its template are deleted. Pipelines that it has started continue. This cannot
            be undone.
          </p>
        </AskFirst>
      )}
    </>
  );
}
