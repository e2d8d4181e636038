/** HTTP routes for health checks and the API document. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, openapiDocument, type Route, routes } from "@millrace/contract";
import type { FastifyInstance } from "fastify";
import { sql } from "kysely";
import type { Store } from "../../store/drivers/store.ts";
import type { SystemContext } from "../requests/context.ts";
import { unavailable } from "../requests/errors.ts";
import { JsonText, register } from "../requests/route.ts";
import { Doctor } from "./doctor.ts";
import { readState } from "./state.ts";

/** Milliseconds that a health check waits for the database. */
const patience = 1000;

/** Tells whether the database answers in time. */
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
    if (!context.ready())
      throw new ApiError("unavailable", "The server is starting or stopping. Try again in a moment.");
    if (!(await answers(context.store))) throw unavailable();
    return { status: "ready" };
  });

  register(app, context, routes.getSystem, () => readState(context));

  const doctor = new Doctor(context);
  register(app, context, routes.getDoctor, () => doctor.check());

  // The document is serialized once, because anybody may request it, and serializing costs as much as a hundred other
  // answers.
  let document: JsonText | undefined;
  register(app, context, routes.openapiJson, async () => {
    document ??= new JsonText(JSON.stringify(openapiDocument(Object.values(routes) as Route[])));
    return document;
  });
}
