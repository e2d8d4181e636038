/** Health, and the description of the API. */
import { ApiError, openapiDocument, type Route, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import type { HttpContext } from "./context.ts";
import { JsonText, register } from "./route.ts";

export function systemRoutes(app: FastifyInstance, context: HttpContext): void {
  register(app, context, routes.healthz, async () => ({ status: "ok" }));

  register(app, context, routes.readyz, async () => {
    if (!context.ready()) throw new ApiError("unavailable", "The server is starting or stopping.");
    await sql`select 1`.execute(context.store.db);
    return { status: "ready" };
  });

  // Written once: anybody may ask for it, and it takes as long as a hundred other answers.
  let document: JsonText | undefined;
  register(app, context, routes.openapiJson, async () => {
    document ??= new JsonText(JSON.stringify(openapiDocument(Object.values(routes) as Route[])));
    return document;
  });
}
