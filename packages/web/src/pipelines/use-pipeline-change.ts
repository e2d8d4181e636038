/** Changes of a pipeline. The server answers with the changed pipeline, which the page shows at once. */
import { type Pipeline, type PipelineOutput, type RouteInput, routes } from "@millrace/contract";
import { useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { useAction } from "../api/calls.ts";

type ChangeId =
  | "pausePipeline"
  | "resumePipeline"
  | "cancelPipeline"
  | "rerunPipeline"
  | "removeJobFromPipeline"
  | "retryPipelineJob"
  | "updatePipelineSettings";

/** Returns the function that does it, and how that goes; `done` is called after it succeeded. */
export function usePipelineChange<Id extends ChangeId>(id: Id) {
  const cache = useQueryClient();
  const done = useRef<(() => void) | undefined>(undefined);
  // Not with `mutate`, whose callbacks wait until everything has been read again.
  const action = useAction(routes[id], (output) => {
    const { pipeline } = output as PipelineOutput;
    cache.setQueriesData<Pipeline>({ queryKey: [routes.getPipeline.id] }, (old) =>
      old?.pipeline_id === pipeline.pipeline_id ? pipeline : old,
    );
    done.current?.();
  });
  const change = (input: RouteInput<(typeof routes)[Id]>, onDone?: () => void) => {
    done.current = onDone;
    action.mutate(input);
  };
  return { change, busy: action.isPending, error: action.error, isDone: action.isSuccess };
}
