/** Health, and the description of the API. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, openapiDocument, type Route, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import type { Store } from "../../store/drivers/store.ts";
import type { SystemContext } from "../requests/context.ts";
import { unavailable } from "../requests/errors.ts";
import { JsonText, register } from "../requests/route.ts";

/** Milliseconds. Probes wait no longer for a store that hangs. */
const patience = 1000;

async function answers(store: Store): Promise<boolean> {
  if (!store.isReachable()) return false;
  const late = new AbortController();
  const asked = sql`select 1`.execute(store.db).then(
    () => true,
    () => false,
  );
  const expired = sleep(patience, false, { signal: late.signal }).catch(() => false);
  return Promise.race([asked, expired]).finally(() => late.abort());
}

export function systemRoutes(app: FastifyInstance, context: SystemContext): void {
  register(app, context, routes.healthz, async () => ({ status: "ok" }));

  register(app, context, routes.readyz, async () => {
    if (!context.ready()) throw new ApiError("unavailable", "The server is starting or stopping.");
    if (!(await answers(context.store))) throw unavailable();
    return { status: "ready" };
  });

  // Written once: anybody may ask for it, and it takes as long as a hundred other answers.
  let document: JsonText | undefined;
  register(app, context, routes.openapiJson, async () => {
    document ??= new JsonText(JSON.stringify(openapiDocument(Object.values(routes) as Route[])));
    return document;
  });
}
