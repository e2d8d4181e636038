/** The actions on one job of a pipeline. */
import type { JobPipelineRun, Pipeline } from "@millrace/contract";
import { useState } from "react";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Problem } from "../look/states.tsx";
import { parentsOf, removeRefusal, retryRefusal } from "./pipeline-actions.ts";
import { namesOf } from "./run-reasons.ts";
import { usePipelineChange } from "./use-pipeline-change.ts";

interface RunProps {
  readonly pipeline: Pipeline;
  readonly run: JobPipelineRun;
}

const bodyOf = ({ pipeline: { pipeline_id }, run: { job_id } }: RunProps) => ({ body: { pipeline_id, job_id } });

export function RetryButton({ pipeline, run }: RunProps) {
  const role = useRefusal("editor");
  const { change, busy, error } = usePipelineChange("retryPipelineJob");
  return (
    <>
      <Button
        icon="again"
        busy={busy}
        refusal={role ?? retryRefusal(pipeline, run)}
        onClick={() => change(bodyOf({ pipeline, run }))}
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
  const { change, busy, error } = usePipelineChange("removeJobFromPipeline");
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
          busy={busy}
          error={error}
          onConfirm={() => change(bodyOf({ pipeline, run }), () => setAsks(false))}
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
