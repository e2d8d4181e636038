/** Runs one action on several jobs, one after the other, and keeps the outcome of each. */
import { allows, type Client, type Job, rerunInput, routes } from "@millrace/contract";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { clientOf } from "../api/client.ts";
import { useTeam } from "../api/team.tsx";
import { messageOf } from "../look/states.tsx";

export type BulkAction = "cancel" | "rerun";

export interface Outcome {
  readonly job: Job;
  readonly state: "done" | "failed" | "skipped";
  readonly message: string;
  /** The job that the rerun created. */
  readonly created?: Job;
}

export interface Report {
  readonly action: BulkAction;
  readonly total: number;
  readonly outcomes: readonly Outcome[];
}

export function useBulk() {
  const client = clientOf(useTeam());
  const cache = useQueryClient();
  const [report, setReport] = useState<Report>();
  const [busy, setBusy] = useState(false);
  const run = async (action: BulkAction, jobs: readonly Job[]) => {
    setBusy(true);
    const outcomes: Outcome[] = [];
    for (const job of jobs) {
      outcomes.push(await outcomeOf(client, action, job));
      setReport({ action, total: jobs.length, outcomes: [...outcomes] });
    }
    setBusy(false);
    await cache.invalidateQueries();
  };
  return { run, busy, report, forget: () => setReport(undefined) };
}

async function outcomeOf(client: Client, action: BulkAction, job: Job): Promise<Outcome> {
  if (!allows(action, job.status)) return { job, state: "skipped", message: skipped[action] };
  try {
    return { job, state: "done", ...(await act[action](client, job)) };
  } catch (error) {
    return { job, state: "failed", message: messageOf(error) };
  }
}

const skipped = {
  cancel: "It had already ended, so nothing was done.",
  rerun: "It is a draft of a pipeline, so it was not rerun.",
} as const;

const act = {
  async cancel(client: Client, { id }: Job) {
    const { message } = await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    // The report has the name of the job already.
    return { message: message.replace(`Job ${id}`, "It") };
  },
  async rerun(client: Client, { id }: Job) {
    const whole = await wholeJob(client, id);
    return { message: "Created a new job.", created: await client.call(routes.createJob, { body: rerunInput(whole) }) };
  },
} as const;

/** Reads a job with its whole texts: those of a list may be cut. */
async function wholeJob(client: Client, id: string): Promise<Job> {
  const [job] = await client.call(routes.listJobs, { query: { job_id: id } });
  if (!job) throw new Error(`There is no job ${id} any more.`);
  return job;
}
