/** HTTP routes for the audit log. */
import { routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { readAudit } from "../../domain/access/audit.ts";
import type { RequestContext } from "../requests/context.ts";
import { register } from "../requests/route.ts";

export function auditRoutes(app: FastifyInstance, context: RequestContext): void {
  register(app, context, routes.listAudit, ({ principal, query }) => readAudit(context.store.db, principal, query));
}
