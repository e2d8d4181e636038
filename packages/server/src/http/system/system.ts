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

/** Finds out whether the database answers. */
class Probe {
  readonly #store: Store;
  /** The question that is not answered yet. Health checks share it, so that they take one connection at most. */
  #asked: Promise<boolean> | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Tells whether the database answers in time. */
  async answers(): Promise<boolean> {
    const late = new AbortController();
    this.#asked ??= this.#ask().finally(() => {
      this.#asked = undefined;
    });
    const expired = sleep(patience, false, { signal: late.signal }).catch(() => false);
    return Promise.race([this.#asked, expired]).finally(() => late.abort());
  }

  /** Reads no rows, but waits if somebody has locked one of the tables that almost every request needs. */
  #ask(): Promise<boolean> {
    return sql`select 1 from users, teams, jobs, queue, attempts where 1 = 0`.execute(this.#store.db).then(
      () => true,
      () => false,
    );
  }
}

export function systemRoutes(app: FastifyInstance, context: SystemContext): void {
  register(app, context, routes.healthz, async () => ({ status: "ok" }));

  const probe = new Probe(context.store);
  register(app, context, routes.readyz, async () => {
    if (!context.ready())
      throw new ApiError("unavailable", "The server is starting or stopping. Try again in a moment.");
    if (!context.store.isReachable()) throw unavailable();
    if (!(await probe.answers()))
      throw unavailable("It did not answer within a second. If it runs, another session may have locked its tables.");
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
