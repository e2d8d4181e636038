/** HTTP routes for clusters. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { listClusters } from "../../domain/jobs/clusters.ts";
import {
  changeCluster,
  createCluster,
  existingCluster,
  listManaged,
  readManaged,
  removeCluster,
} from "../../domain/jobs/managed-clusters.ts";
import { testCluster } from "../../execution/test-cluster.ts";
import type { JobContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";
import { clusterSight } from "./cluster-sight.ts";

export function clusterRoutes(app: FastifyInstance, context: JobContext): void {
  const { store, clock, signals } = context;

  register(app, context, routes.listClusters, async ({ team }) =>
    listClusters(store.db, team.id, await clusterSight(context)),
  );

  register(app, context, routes.listManagedClusters, async () => listManaged(context, await clusterSight(context)));

  register(app, context, routes.getManagedCluster, async ({ params }) =>
    readManaged(context, params.cluster_name, await clusterSight(context)),
  );

  register(app, context, routes.createCluster, async ({ actor, body }) => {
    await createCluster(context, actor, body, clock.now());
    await context.keepEngines();
    return readManaged(context, body.name, await clusterSight(context));
  });

  register(app, context, routes.updateCluster, async ({ actor, params, body }) => {
    await changeCluster(context, actor, params.cluster_name, body, clock.now());
    await context.keepEngines();
    signals.dispatch.wake();
    return readManaged(context, params.cluster_name, await clusterSight(context));
  });

  register(app, context, routes.deleteCluster, async ({ actor, params, query }) => {
    await removeCluster(context, actor, { name: params.cluster_name, isForced: query.force === true }, clock.now());
    await context.keepEngines();
    return { message: `The cluster ${params.cluster_name} was removed. Jobs that ran on it stay.` };
  });

  register(app, context, routes.testCluster, async ({ params, body }) =>
    testCluster(context, await existingCluster(store.db, params.cluster_name), body.seconds ?? 60),
  );
}
