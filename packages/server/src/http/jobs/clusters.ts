/** HTTP routes for clusters. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { listClusters } from "../../domain/jobs/clusters.ts";
import type { JobContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function clusterRoutes(app: FastifyInstance, context: JobContext): void {
  register(app, context, routes.listClusters, async () => {
    const isLow = await context.disk.isLow();
    return listClusters(context.store.db, (cluster) => isLow || context.engines.isPaused(cluster));
  });
}
