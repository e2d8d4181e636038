/** What can be done with a job: cancel, rerun, resume, edit. */
import { allows, type Job, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { teamPath } from "../api/team.tsx";
import { Button, ButtonLink } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Problem } from "../look/states.tsx";
import { wordOf } from "../look/status.tsx";
import { copyJob } from "./copy-job.ts";
import { useRerun } from "./use-rerun.ts";

export function JobButtons({ job }: { job: Job }) {
  const refusal = useRefusal("editor");
  const rerun = useRerun(job);
  const isOver = job.status === "FAILED" || job.status === "CANCELED";
  const draft = allows("rerun", job.status)
    ? undefined
    : "The job is a draft of a pipeline. It starts when the jobs before it are complete.";
  return (
    <>
      {isOver && job.query_type === "PYTHON" && (
        <Button
          icon="play"
          refusal={refusal}
          busy={rerun.busy}
          title="Runs the job again from its last checkpoint, with the same script and settings"
          onClick={() => rerun.run(false)}
        >
          Resume from checkpoint
        </Button>
      )}
      <Button
        icon="again"
        kind={isOver ? "main" : "plain"}
        refusal={refusal ?? draft}
        busy={rerun.busy}
        title="Runs the job again from the beginning, with the same script and settings"
        onClick={() => rerun.run(true)}
      >
        Rerun
      </Button>
      <ButtonLink icon="edit" href={teamPath(job.team, `/editor?from=${job.id}`)} refusal={refusal}>
        Edit and rerun
      </ButtonLink>
      <CancelButton job={job} refusal={refusal} />
      <CopyAs actions={copyJob(job)} />
      <Problem error={rerun.error} />
    </>
  );
}

function CancelButton({ job, refusal }: { job: Job; refusal: string | undefined }) {
  const [asks, setAsks] = useState(false);
  const cancel = useAction(routes.cancelJob);
  const over = allows("cancel", job.status) ? undefined : `The job is ${wordOf(job.status).toLowerCase()}.`;
  if (over !== undefined && !job.status.startsWith("CANCELING")) return null;
  return (
    <>
      <Button kind="danger" icon="stop" refusal={refusal ?? over} onClick={() => setAsks(true)}>
        Cancel
      </Button>
      {asks && (
        <AskFirst
          title="Cancel this job?"
          action="Cancel the job"
          busy={cancel.isPending}
          error={cancel.error}
          onClose={() => setAsks(false)}
          onConfirm={() => cancel.mutate({ params: { job_id: job.id }, body: {} }, { onSuccess: () => setAsks(false) })}
        >
          <p>
            Its processes are stopped. The log stays, and so do datasets that it has already saved. It can be run again
            later.
          </p>
        </AskFirst>
      )}
    </>
  );
}
