/** Runs the job of a task once, now. The times of the task stay as they are. */
import { routes, type Task } from "@millrace/contract";
import { useApi } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { useRerun } from "../jobs/use-rerun.ts";
import { Button } from "../look/button.tsx";
import { Problem } from "../look/states.tsx";

export function RunTask({ task, isMain }: { task: Task; isMain: boolean }) {
  const refusal = useRefusal("editor");
  const [job] = useApi(routes.listJobs, { query: { job_id: task.id } }).data ?? [];
  const rerun = useRerun(job);
  return (
    <>
      <Button
        kind={isMain ? "main" : "plain"}
        icon="play"
        refusal={refusal}
        busy={rerun.busy || !job}
        title="Creates one job now, with your rights. The times of the task stay as they are."
        onClick={() => rerun.run(true)}
      >
        Run now
      </Button>
      <Problem error={rerun.error} />
    </>
  );
}
