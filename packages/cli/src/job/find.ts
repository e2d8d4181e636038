/** One job, by its id or by the start of it. */
import { type Job, routes } from "@millrace/contract";
import type { Connection } from "../connection.ts";
import { CliError, usageError } from "../errors.ts";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const recentJobs = 100;

export async function findJobId({ client }: Connection, text: string): Promise<string> {
  if (uuid.test(text)) return text;
  if (!/^[0-9a-f][0-9a-f-]{5,}$/i.test(text)) {
    throw usageError(`'${text}' is not a job id`, {
      why: "Expected a whole id, or at least the first 6 characters of a recent one",
      next: "millrace job ls",
    });
  }
  const jobs = await client.call(routes.listJobs, { query: { limit: recentJobs } });
  const found = jobs.filter(({ id }) => id.startsWith(text.toLowerCase()));
  if (found.length === 1 && found[0]) return found[0].id;
  const [what, next] =
    found.length === 0 ? ["No job", "Give the whole id"] : ["More than one job", "Give more of the id"];
  throw new CliError(`${what} begins with '${text}'`, {
    why: `${found.length} of the last ${jobs.length} jobs of this team do`,
    next: `${next}: millrace job ls`,
  });
}

export async function fetchJob({ client }: Connection, id: string): Promise<Job> {
  const [job] = await client.call(routes.listJobs, { query: { job_id: id, include_steps: true } });
  if (job) return job;
  throw new CliError(`There is no job ${id} in this team`, { next: "millrace job ls, with another --team perhaps" });
}
