/** HTTP routes for jobs. */
import { ApiError, invalid, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { cancelJob, createJob, requireTeamJob, searchTeamJobs } from "../../domain/jobs/jobs.ts";
import { explainWait } from "../../domain/jobs/waits.ts";
import { readAttempts } from "../../domain/lifecycle/retries.ts";
import { attemptKey } from "../../engines/engine.ts";
import { getJobState } from "../../store/queries/jobs/jobs.ts";
import type { JobContext } from "../requests/context.ts";
import { JsonText, register } from "../requests/route.ts";
import { clusterSight } from "./cluster-sight.ts";

export function jobRoutes(app: FastifyInstance, context: JobContext): void {
  const { clock, faults, disk } = context;

  register(app, context, routes.listJobs, async ({ team, query, reply }) => {
    const { jobs, next } = await searchTeamJobs(context, team, query);
    if (next !== undefined) reply.header("x-next-cursor", next);
    return new JsonText(`[${jobs.join(",")}]`);
  });

  register(app, context, routes.createJob, async ({ principal, actor, team, body, request }) => {
    await disk.requireRoom();
    const idempotencyKey = [request.headers["idempotency-key"]].flat()[0] || undefined;
    if (idempotencyKey && idempotencyKey.length > 255)
      throw invalid("Idempotency-Key", `at most 255 characters, got ${idempotencyKey.length}`);
    const text = await createJob(context, { principal, actor, team, input: body, idempotencyKey }, clock.now());
    faults.pass("job-committed");
    return new JsonText(text);
  });

  register(app, context, routes.getJobUsage, async ({ team, params }) => {
    const id = params.job_id.toLowerCase();
    await requireTeamJob(context, team, id);
    const job = await getJobState(context.store.db, id);
    const engine = context.engines.of(job?.cluster_id ?? 0);
    const samples = (await engine.usage?.(attemptKey(id, job?.attempt ?? 0))) ?? [];
    const memory = samples.map((sample) => sample.memory_bytes);
    return {
      samples,
      peak_memory_bytes: samples.length > 0 ? Math.max(...memory) : null,
      cpu_seconds: samples.at(-1)?.cpu_seconds ?? null,
    };
  });

  register(app, context, routes.getJobAttempts, async ({ team, params }) => {
    const id = params.job_id.toLowerCase();
    await requireTeamJob(context, team, id);
    const found = await readAttempts(context.store.db, id);
    if (!found) throw new ApiError("not_found", `There is no job ${id} in the team ${team.name}.`);
    return found;
  });

  register(app, context, routes.getJobWait, async ({ team, params }) => {
    const id = params.job_id.toLowerCase();
    await requireTeamJob(context, team, id);
    const found = await explainWait(context, id, await clusterSight(context));
    if (!found) throw new ApiError("not_found", `There is no job ${id} in the team ${team.name}.`);
    return found;
  });

  register(app, context, routes.cancelJob, async ({ actor, team, params }) => ({
    message: await cancelJob(context, { actor, team }, params.job_id.toLowerCase(), clock.now()),
  }));
}
