/** The actions of a pipeline. An action that is not allowed now stays, and says why. */
import { type Pipeline, type Route, routes } from "@millrace/contract";
import { useState } from "react";
import { useAction } from "../api/calls.ts";
import { useRefusal } from "../api/session.tsx";
import { Button } from "../look/button.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Problem } from "../look/states.tsx";
import { actionRefusal } from "./pipeline-actions.ts";
import { isDraft } from "./pipeline-drafts.ts";

type ActionRoute = (typeof routes)["pausePipeline" | "resumePipeline" | "rerunPipeline" | "cancelPipeline"] & Route;

function usePipelineAction(route: ActionRoute, { pipeline_id }: Pipeline) {
  const { mutate, isPending: busy, error } = useAction(route);
  return { busy, error, act: (done?: () => void) => mutate({ body: { pipeline_id } }, { onSuccess: () => done?.() }) };
}

export function PipelineActions({ pipeline }: { pipeline: Pipeline }) {
  const role = useRefusal("editor");
  const pause = usePipelineAction(routes.pausePipeline, pipeline);
  const resume = usePipelineAction(routes.resumePipeline, pipeline);
  const rerun = usePipelineAction(routes.rerunPipeline, pipeline);
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
      <Problem error={pause.error ?? resume.error ?? rerun.error} />
    </>
  );
}

function CancelButton({ pipeline, refusal }: { pipeline: Pipeline; refusal: string | undefined }) {
  const [asks, setAsks] = useState(false);
  const cancel = usePipelineAction(routes.cancelPipeline, pipeline);
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
