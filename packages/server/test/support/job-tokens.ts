/** Jobs that run and reveal their token. */
import { type Client, type Job, routes } from "@millrace/contract";
import { createJob, readLog, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";

export interface RunningJob {
  readonly job: Job;
  readonly token: string;
  end(): Promise<void>;
}

/** A script that prints its token in a form that is not masked, and waits. */
export const revealing = 'echo "$MILLRACE_TOKEN" | rev; sleep 60';

/** Starts a job that reveals its token. */
export async function runningJob(client: Client, rest: object = {}, admin = client): Promise<RunningJob> {
  return revealed(await createJob(client, shell(revealing, rest)), admin);
}

/** Waits until the script `revealing` has begun; returns the job's token and how to end the job. */
export async function revealed(job: Job, admin: Client): Promise<RunningJob> {
  await waitForStatus(admin, job.id, ["RUNNING"]);
  const end = async () => {
    await admin.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
    await waitForEnd(admin, job.id);
  };
  for (const deadline = Date.now() + 120_000; Date.now() < deadline; ) {
    const log = await readLog(admin, job.id);
    if (log.endsWith("\n")) return { job, token: [...log.trim()].reverse().join(""), end };
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the job says nothing");
}
