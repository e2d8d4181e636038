/** Helpers that create jobs and wait for them. */
import { type Client, isIn, type Job, type JobInput, type JobStatus, jobStates, routes } from "@millrace/contract";

export const shell = (query: string, rest: Partial<JobInput> = {}): JobInput => ({
  query,
  query_type: "SHELL",
  query_name: "job.sh",
  ...rest,
});
export const python = (query: string, rest: Partial<JobInput> = {}): JobInput => ({
  query,
  query_type: "PYTHON",
  query_name: "job.py",
  ...rest,
});

export const createJob = (client: Client, input: JobInput): Promise<Job> =>
  client.call(routes.createJob, { body: input });

export async function readJob(client: Client, id: string): Promise<Job> {
  const [job] = await client.call(routes.listJobs, { query: { job_id: id, include_steps: true } });
  if (!job) throw new Error(`there is no job ${id}`);
  return job;
}

/** Polls until the job is in one of these states. Throws after a time limit, so that a test does not hang. */
export async function waitForStatus(
  client: Client,
  id: string,
  statuses: readonly JobStatus[],
  seconds = 300,
): Promise<Job> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const job = await readJob(client, id);
    if (statuses.includes(job.status)) return job;
    if (isIn("final", job.status) || Date.now() > deadline) {
      throw new Error(`job ${id} is ${job.status}, not ${statuses.join(" or ")}: ${job.error_message}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export const waitForEnd = (client: Client, id: string, seconds?: number) =>
  waitForStatus(client, id, jobStates.final, seconds);

/** Creates a job, waits until it has ended, and returns the job and its log. */
export async function runJob(client: Client, input: JobInput): Promise<{ job: Job; log: string }> {
  const { id } = await createJob(client, input);
  const job = await waitForEnd(client, id);
  return { job, log: await readLog(client, id) };
}

export async function readLog(client: Client, id: string): Promise<string> {
  return (await readLogBytes(client, id)).toString("utf8");
}

export async function readLogBytes(client: Client, id: string): Promise<Buffer> {
  const response = await client.request(routes.getJobLogs, { params: { job_id: id }, query: {} });
  return Buffer.from(await response.arrayBuffer());
}
