/** Clusters over HTTP. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { listClusters } from "../domain/clusters.ts";
import type { HttpContext } from "./context.ts";
import { register } from "./route.ts";

export function clusterRoutes(app: FastifyInstance, context: HttpContext): void {
  register(app, context, routes.listClusters, async () => listClusters(context.store.db, await context.disk.isLow()));
}
