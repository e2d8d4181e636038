/** The actions of a pipeline. An action that is not allowed now stays, and says why. */
import type { Pipeline } from "@millrace/contract";
import { useState } from "react";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Problem } from "../look/states.tsx";
import { copyPipeline } from "./copy-pipeline.ts";
import { actionRefusal } from "./pipeline-actions.ts";
import { isDraft } from "./pipeline-drafts.ts";
import { usePipelineChange } from "./use-pipeline-change.ts";

type ActionId = "pausePipeline" | "resumePipeline" | "rerunPipeline" | "cancelPipeline";

function usePipelineAction(id: ActionId, { pipeline_id }: Pipeline) {
  const { change, busy, error } = usePipelineChange(id);
  return { busy, error, act: (done?: () => void) => change({ body: { pipeline_id } }, done) };
}

export function PipelineActions({ pipeline }: { pipeline: Pipeline }) {
  const role = useRefusal("editor");
  const pause = usePipelineAction("pausePipeline", pipeline);
  const resume = usePipelineAction("resumePipeline", pipeline);
  const rerun = usePipelineAction("rerunPipeline", pipeline);
  const { status } = pipeline;
  const refusal = (action: Parameters<typeof actionRefusal>[0]) => role ?? actionRefusal(action, status);
  return (
    <>
      {status === "RUNNING" ? (
        <Button icon="pause" refusal={refusal("pause")} busy={pause.busy} onClick={() => pause.act()}>
          Pause
        </Button>
      ) : (
        <Button
          icon="play"
          kind={status === "PAUSED" ? "main" : "plain"}
          refusal={refusal("resume")}
          busy={resume.busy}
          onClick={() => resume.act()}
        >
          {isDraft(pipeline) ? "Start" : "Resume"}
        </Button>
      )}
      <Button
        icon="again"
        kind={refusal("rerun") === undefined ? "main" : "plain"}
        refusal={refusal("rerun")}
        busy={rerun.busy}
        onClick={() => rerun.act()}
      >
        Rerun from failed
      </Button>
      <CancelButton pipeline={pipeline} refusal={refusal("cancel")} />
      <CopyAs actions={copyPipeline(pipeline)} />
      <Problem error={pause.error ?? resume.error ?? rerun.error} />
    </>
  );
}

function CancelButton({ pipeline, refusal }: { pipeline: Pipeline; refusal: string | undefined }) {
  const [asks, setAsks] = useState(false);
  const cancel = usePipelineAction("cancelPipeline", pipeline);
  return (
    <>
      <Button icon="stop" kind="danger" refusal={refusal} onClick={() => setAsks(true)}>
        Cancel
      </Button>
      {asks && (
        <AskFirst
          title={`Cancel the pipeline ${pipeline.name}?`}
          action="Cancel the pipeline"
          busy={cancel.busy}
          error={cancel.error}
          onConfirm={() => cancel.act(() => setAsks(false))}
          onClose={() => setAsks(false)}
        >
          {`Running jobs are stopped, and the ${pipeline.total - pipeline.completed} jobs that are not complete end as canceled. Results of complete jobs stay. You can rerun the pipeline later.`}
        </AskFirst>
      )}
    </>
  );
}
