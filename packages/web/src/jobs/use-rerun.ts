/** Runs a job again, and leads to the new job. */
import { type Job, rerunInput, routes } from "@millrace/contract";
import { useState } from "react";
import { useLocation } from "wouter";
import { useAction } from "../api/calls.ts";
import { jobPath } from "../paths/job-paths.ts";

/** `run` takes whether checkpoints are ignored. It does nothing until the job is known. */
export function useRerun(job: Job | undefined) {
  const [, go] = useLocation();
  const create = useAction(routes.createJob);
  const [failure, setFailure] = useState<unknown>();
  const run = (reset: boolean) => {
    if (!job) return;
    setFailure(undefined);
    try {
      const body = { ...rerunInput(job), reset };
      create.mutate({ body }, { onSuccess: (made) => go(jobPath(made.team, made.id)) });
    } catch (error) {
      setFailure(error);
    }
  };
  return { run, busy: create.isPending, error: failure ?? create.error };
}
