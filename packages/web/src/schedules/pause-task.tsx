/** Pauses and resumes a task. Jobs that it has created are not affected, so nothing is asked. */
import { routes, type TaskItem } from "@millrace/contract";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { Problem } from "../look/states.tsx";

export function PauseTask({ task, isSmall = false }: { task: TaskItem; isSmall?: boolean }) {
  const refusal = useRefusal("editor");
  const update = useAction(routes.updateTask);
  const word = task.is_paused ? "Resume" : "Pause";
  return (
    <>
      <Button
        kind={isSmall ? "bare" : "plain"}
        icon={task.is_paused ? "play" : "pause"}
        refusal={refusal}
        busy={update.isPending}
        title={
          task.is_paused
            ? "Creates jobs again. Those that were due during the pause are not made up."
            : "Creates no more jobs. Jobs that run now continue."
        }
        aria-label={isSmall ? `${word} ${task.name ?? task.id}` : undefined}
        onClick={() => update.mutate({ params: { job_id: task.id }, body: { is_paused: !task.is_paused } })}
      >
        {word}
      </Button>
      <Problem error={update.error} />
    </>
  );
}
