/** Finds a job by its id, or by the beginning or the end of the id. */
import { type Job, routes } from "@millrace/contract";
import { allPages } from "../all-pages.ts";
import type { Connection } from "../connection.ts";
import { CliError, usageError } from "../errors.ts";
import { isPartOfId, leastOfId, shortId } from "./id.ts";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/**
 * Numbers of jobs to search: first the newest 100 jobs, then the newest 2000, because users mostly type ids of recent
 * jobs.
 */
const windows = [100, 2000];

export async function findJobId({ client }: Connection, text: string): Promise<string> {
  if (uuid.test(text)) return text;
  if (text.length < leastOfId || !/^[0-9a-f-]+$/i.test(text)) {
    throw usageError(`'${text}' is not a job id`, {
      why: `Expected a whole id, or at least ${leastOfId} characters of its beginning or its end`,
      next: "millrace job ls",
    });
  }
  let jobs: Job[] = [];
  for (const limit of windows) {
    jobs = await allPages(client, routes.listJobs, {}, limit);
    const found = jobs.filter(({ id }) => isPartOfId(id, text));
    if (found.length > 1) throw severalJobs(text, found);
    if (found[0]) return found[0].id;
    if (jobs.length < limit) break;
  }
  throw new CliError(`No job id begins or ends with '${text}'`, {
    why: `Searched the last ${jobs.length} jobs of this team`,
    next: "For an older job, give the whole id. To find it, run: millrace job ls --until TIME",
  });
}

const shownMatches = 10;

function severalJobs(text: string, found: readonly Job[]): CliError {
  const shown = found.slice(0, shownMatches).map((job) => `${shortId(job.id)}  ${job.id}  ${job.name ?? ""}`.trimEnd());
  const more = found.length > shownMatches ? [`and ${found.length - shownMatches} more`] : [];
  return new CliError(`'${text}' is the beginning or the end of ${found.length} job ids`, {
    why: [...shown, ...more].join("\n"),
    next: "Use an id from the first column above, or a whole id",
  });
}

export async function fetchJob({ client }: Connection, id: string): Promise<Job> {
  const [job] = await client.call(routes.listJobs, { query: { job_id: id, include_steps: true } });
  if (job) return job;
  throw new CliError(`There is no job ${id} in this team`, {
    next: "millrace job ls; for a job of another team, add --team NAME",
  });
}
