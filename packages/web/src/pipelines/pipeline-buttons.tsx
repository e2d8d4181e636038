/** The actions of a pipeline: those that its state allows. One that the role forbids stays, and says why. */
import { isUnfinished, type Pipeline } from "@millrace/contract";
import { useState } from "react";
import { useRefusal } from "../api/session.tsx";
import { useTeam } from "../api/team.tsx";
import { Button, ButtonLink } from "../look/button.tsx";
import { CopyAs } from "../look/copy-as.tsx";
import { AskFirst } from "../look/dialog.tsx";
import { Problem } from "../look/states.tsx";
import { newPipelinePath } from "../paths/pipeline-paths.ts";
import { copyPipeline } from "./copy-pipeline.ts";
import { actionRefusal, rerunTitle } from "./pipeline-actions.ts";
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
  const may = (action: Parameters<typeof actionRefusal>[0]) => actionRefusal(action, status) === undefined;
  return (
    <>
      {may("pause") && (
        <Button icon="pause" refusal={role} busy={pause.busy} onClick={() => pause.act()}>
          Pause
        </Button>
      )}
      {may("resume") && (
        <Button icon="play" kind="main" refusal={role} busy={resume.busy} onClick={() => resume.act()}>
          {isDraft(pipeline) ? "Start" : "Resume"}
        </Button>
      )}
      {may("rerun") && (
        <Button
          icon="again"
          kind={status === "FAILED" ? "main" : "plain"}
          refusal={role}
          busy={rerun.busy}
          title="Runs the jobs that are not complete again; results of complete jobs stay"
          onClick={() => rerun.act()}
        >
          {rerunTitle(status)}
        </Button>
      )}
      {!isUnfinished(status) && <RunAgain pipeline={pipeline} refusal={role} />}
      {may("cancel") && <CancelButton pipeline={pipeline} refusal={role} />}
      <CopyAs actions={copyPipeline(pipeline)} />
      <Problem error={pause.error ?? resume.error ?? rerun.error} />
    </>
  );
}

/** Leads to the form for a new pipeline, with the same datasets chosen. */
const RunAgain = ({ pipeline, refusal }: { pipeline: Pipeline; refusal: string | undefined }) => (
  <ButtonLink
    icon="again"
    kind={pipeline.status === "FAILED" ? "plain" : "main"}
    href={newPipelinePath(useTeam(), pipeline.datasets)}
    refusal={refusal}
  >
    Run again
  </ButtonLink>
);

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
