/** The actions on one job of a pipeline. */
import { type JobPipelineRun, type Pipeline, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Problem } from "../look/states.tsx";
import { parentsOf, removeRefusal, retryRefusal } from "./pipeline-actions.ts";
import { namesOf } from "./run-reasons.ts";

interface RunProps {
  readonly pipeline: Pipeline;
  readonly run: JobPipelineRun;
}

const bodyOf = ({ pipeline: { pipeline_id }, run: { job_id } }: RunProps) => ({ body: { pipeline_id, job_id } });

export function RetryButton({ pipeline, run }: RunProps) {
  const role = useRefusal("editor");
  const { mutate, isPending, error } = useAction(routes.retryPipelineJob);
  return (
    <>
      <Button
        icon="again"
        busy={isPending}
        refusal={role ?? retryRefusal(pipeline, run)}
        onClick={() => mutate(bodyOf({ pipeline, run }))}
      >
        Retry only this job
      </Button>
      <Problem error={error} />
    </>
  );
}

export function RemoveButton({ pipeline, run }: RunProps) {
  const role = useRefusal("editor");
  const [asks, setAsks] = useState(false);
  const { mutate, isPending, error } = useAction(routes.removeJobFromPipeline);
  const parents = parentsOf(pipeline, run);
  return (
    <>
      <Button icon="bin" kind="danger" refusal={role ?? removeRefusal(pipeline, run)} onClick={() => setAsks(true)}>
        Remove
      </Button>
      {asks && (
        <AskFirst
          title={`Remove the job ${run.name}?`}
          action="Remove the job"
          busy={isPending}
          error={error}
          onConfirm={() => mutate(bodyOf({ pipeline, run }), { onSuccess: () => setAsks(false) })}
          onClose={() => setAsks(false)}
        >
          {parents.length > 0
            ? `The pipeline does not run it. Jobs that need it read its existing dataset, and wait for ${namesOf(parents)} instead.`
            : "The pipeline does not run it. Jobs that need it read its existing dataset, and do not wait for it."}
        </AskFirst>
      )}
    </>
  );
}
