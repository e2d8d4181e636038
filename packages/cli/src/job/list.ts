/** Lists jobs: turns flags into a query and reads as many pages as needed. */
import { type Job, type ListJobsQuery, routes } from "@millrace/contract";
import type { Input } from "../arguments.ts";
import type { Connection } from "../connection.ts";
import type { Output } from "../output.ts";
import { findJobId } from "./find.ts";
import { parsePastTime } from "./past-time.ts";

export async function listQuery(connection: Connection, flags: Input<"job ls">["flags"]): Promise<ListJobsQuery> {
  return {
    limit: flags.limit ?? 20,
    ...(flags.status ? { status: [flags.status] } : {}),
    ...(flags.name ? { name: flags.name } : {}),
    ...(flags.search ? { search: flags.search } : {}),
    ...(flags.tag.length > 0 ? { tag: [...flags.tag] } : {}),
    ...(flags["created-by"] ? { created_by: flags["created-by"] } : {}),
    ...(flags.since ? { created_after: parsePastTime("since", flags.since) } : {}),
    ...(flags.until ? { created_before: parsePastTime("until", flags.until) } : {}),
    ...(flags.cluster ? { cluster: flags.cluster } : {}),
    ...(flags.parent ? { parent_job_id: await findJobId(connection, flags.parent) } : {}),
    ...(flags.extended ? { include_steps: true } : {}),
  };
}

/**
 * Reads matching jobs, at most `limit`. Each request examines a limited number of jobs and returns a cursor for the
 * next request.
 */
export async function listJobs({ client }: Connection, query: ListJobsQuery, output: Output): Promise<Job[]> {
  const limit = query.limit ?? 20;
  const jobs: Job[] = [];
  for (let cursor: string | undefined; ; ) {
    const part = { ...query, limit: limit - jobs.length, ...(cursor ? { cursor } : {}) };
    const response = await client.request(routes.listJobs, { query: part });
    jobs.push(...((await response.json()) as Job[]));
    cursor = response.headers.get("x-next-cursor") ?? undefined;
    if (cursor === undefined || jobs.length >= limit) break;
    output.progress(`Searching: ${jobs.length} found so far ...`);
  }
  output.clearProgress();
  return jobs;
}
