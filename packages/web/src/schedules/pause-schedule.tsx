/** Pauses and resumes a schedule. Both ask first, because they also concern the pipelines that the schedule started. */
import { type PipelineScheduleItem, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { isOver } from "./health.ts";

interface PauseProps {
  readonly schedule: PipelineScheduleItem;
  /** Whether the button is one of a row in a table. */
  readonly isSmall?: boolean;
}

export function PauseSchedule({ schedule, isSmall = false }: PauseProps) {
  const [asks, setAsks] = useState(false);
  const refusal = useRefusal("editor");
  const word = schedule.is_paused ? "Resume" : "Pause";
  if (isOver(schedule)) return null;
  return (
    <>
      <Button
        kind={isSmall ? "bare" : "plain"}
        icon={schedule.is_paused ? "play" : "pause"}
        refusal={refusal}
        aria-label={isSmall ? `${word} ${schedule.schedule_name}` : undefined}
        onClick={() => setAsks(true)}
      >
        {word}
      </Button>
      {asks && <Question schedule={schedule} onClose={() => setAsks(false)} />}
    </>
  );
}

function Question({ schedule, onClose }: { schedule: PipelineScheduleItem; onClose: () => void }) {
  const update = useAction(routes.updateSchedule);
  const pause_pipeline = !schedule.is_paused;
  const word = pause_pipeline ? "Pause" : "Resume";
  return (
    <AskFirst
      title={`${word} ${schedule.schedule_name}?`}
      action={word}
      keep="Cancel"
      kind="main"
      busy={update.isPending}
      error={update.error}
      onClose={onClose}
      onConfirm={() => update.mutate({ body: { schedule_id: schedule.id, pause_pipeline } }, { onSuccess: onClose })}
    >
      {pause_pipeline ? (
        <p>
          The schedule starts no more runs. Its running pipelines are paused, too: jobs that run now finish, and nothing
          new starts. A run that waits for the last one to end is dropped.
        </p>
      ) : (
        <p>
          The schedule starts runs again; those that were due during the pause are not made up. Its paused pipelines
          resume, too, even those that somebody paused separately.
        </p>
      )}
    </AskFirst>
  );
}
