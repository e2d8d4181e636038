/** Jobs over HTTP. */
import { invalid, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { cancelJob, createJob, getTeamJob, listTeamJobs } from "../domain/jobs.ts";
import type { HttpContext } from "./context.ts";
import { JsonText, register } from "./route.ts";

export function jobRoutes(app: FastifyInstance, context: HttpContext): void {
  const { clock, faults } = context;

  register(app, context, routes.listJobs, async ({ team, query }) => {
    const jobs = await listTeamJobs(context, team, query);
    return new JsonText(`[${jobs.join(",")}]`);
  });

  register(app, context, routes.createJob, async ({ principal, actor, team, body, request }) => {
    const idempotencyKey = [request.headers["idempotency-key"]].flat()[0] || undefined;
    if (idempotencyKey && idempotencyKey.length > 255) throw invalid("Idempotency-Key", "at most 255 characters");
    const text = await createJob(context, { principal, actor, team, input: body, idempotencyKey }, clock.now());
    faults.pass("job-committed");
    return new JsonText(text);
  });

  register(app, context, routes.cancelJob, async ({ actor, team, params }) => ({
    message: await cancelJob(context, actor, team, params.job_id.toLowerCase(), clock.now()),
  }));

  register(app, context, routes.datasetJobVersions, async ({ team, query }) => {
    await getTeamJob(context, team, query.job_id.toLowerCase());
    return { dataset_versions: [] };
  });
}
