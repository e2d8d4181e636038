/** Clusters over HTTP. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { listClusters } from "../../domain/jobs/clusters.ts";
import type { JobContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function clusterRoutes(app: FastifyInstance, context: JobContext): void {
  register(app, context, routes.listClusters, async () => listClusters(context.store.db, await context.disk.isLow()));
}
