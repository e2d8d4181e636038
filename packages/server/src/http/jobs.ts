/** Jobs over HTTP. */
import { invalid, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { cancelJob, createJob, getTeamJob, searchTeamJobs } from "../domain/jobs.ts";
import type { HttpContext } from "./context.ts";
import { JsonText, register } from "./route.ts";

export function jobRoutes(app: FastifyInstance, context: HttpContext): void {
  const { clock, faults, disk } = context;

  register(app, context, routes.listJobs, async ({ team, query, reply }) => {
    const { jobs, next } = await searchTeamJobs(context, team, query);
    if (next !== undefined) reply.header("x-next-cursor", next);
    return new JsonText(`[${jobs.join(",")}]`);
  });

  register(app, context, routes.createJob, async ({ principal, team, body, request }) => {
    await disk.requireRoom();
    const idempotencyKey = [request.headers["idempotency-key"]].flat()[0] || undefined;
    if (idempotencyKey && idempotencyKey.length > 255) throw invalid("Idempotency-Key", "at most 255 characters");
    const text = await createJob(context, { principal, team, input: body, idempotencyKey }, clock.now());
    faults.pass("job-committed");
    return new JsonText(text);
  });

  register(app, context, routes.cancelJob, async ({ team, params }) => ({
    message: await cancelJob(context, team, params.job_id.toLowerCase(), clock.now()),
  }));

  register(app, context, routes.datasetJobVersions, async ({ team, query }) => {
    await getTeamJob(context, team, query.job_id.toLowerCase());
    return { dataset_versions: [] };
  });
}
