/** HTTP routes for pipelines. */
import { type Pipeline, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import {
  cancelPipeline,
  pausePipeline,
  readPipeline,
  readPipelines,
  removeJob,
  rerunPipeline,
  resumePipeline,
  retryJob,
  triggerPipeline,
} from "../../domain/pipelines/pipelines.ts";
import { updateSettings } from "../../domain/pipelines/update-pipeline-settings.ts";
import type { WorkContext } from "../requests/context.ts";
import { JsonText, register } from "../requests/route.ts";

export function pipelineRoutes(app: FastifyInstance, context: WorkContext): void {
  const { clock, disk } = context;
  const done = (pipeline: Pipeline) => ({ ok: true, pipeline });

  register(app, context, routes.triggerPipeline, async ({ body, ...call }) => {
    await disk.requireRoom();
    return done(await triggerPipeline(context, call, body, clock.now()));
  });
  register(app, context, routes.updatePipelineSettings, async ({ body, ...call }) =>
    done(await updateSettings(context, call, body, clock.now())),
  );
  register(app, context, routes.getPipeline, ({ team, query }) => readPipeline(context, team, query));
  register(app, context, routes.listPipelines, async ({ team, query, reply }) => {
    const { pipelines, next } = await readPipelines(context, team, query);
    if (next !== undefined) reply.header("x-next-cursor", next);
    return new JsonText(`[${pipelines.join(",")}]`);
  });
  register(app, context, routes.pausePipeline, async ({ body, ...call }) =>
    done(await pausePipeline(context, call, body, clock.now())),
  );
  register(app, context, routes.resumePipeline, async ({ body, ...call }) =>
    done(await resumePipeline(context, call, body, clock.now())),
  );
  register(app, context, routes.cancelPipeline, async ({ body, ...call }) =>
    done(await cancelPipeline(context, call, body, clock.now())),
  );
  register(app, context, routes.rerunPipeline, async ({ body, ...call }) =>
    done(await rerunPipeline(context, call, body, clock.now())),
  );
  register(app, context, routes.removeJobFromPipeline, async ({ body, ...call }) =>
    done(await removeJob(context, call, body, clock.now())),
  );
  register(app, context, routes.retryPipelineJob, async ({ body, ...call }) =>
    done(await retryJob(context, call, body, clock.now())),
  );
}
