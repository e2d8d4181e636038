/** A store with schedules on which time passes in steps: servers fire, die, are down, and come back. */
import type { CatchUpPolicy, OverlapPolicy } from "@millrace/contract";
import { recordMade } from "@millrace/testing/millrace/lineage.ts";
import { pino } from "pino";
import { operator } from "../../src/domain/access/audit.ts";
import type { Principal, Team } from "../../src/domain/access/principals.ts";
import { createJob, type JobsContext } from "../../src/domain/jobs/jobs.ts";
import { prepareLocalCluster, prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { triggerPipeline } from "../../src/domain/pipelines/pipelines.ts";
import { createTeamSchedule } from "../../src/domain/schedules/schedules.ts";
import { iso } from "../../src/domain/time/clock.ts";
import { fireSchedules } from "../../src/loops/fire-schedules.ts";
import { Disk } from "../../src/machine/disk.ts";
import { ServerMetrics } from "../../src/metrics/server-metrics.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { readySchedules, teamsWithDueSchedules } from "../../src/store/queries/schedules/schedules.ts";
import { Signals } from "../../src/turns/signals.ts";
import { keyRing } from "./keys.ts";
import { noQuotas } from "./quotas.ts";

export interface Planned {
  readonly expression: string;
  readonly timezone: string;
  readonly overlap: OverlapPolicy;
  readonly catch_up: CatchUpPolicy;
  /** Duration of its runs, in milliseconds. */
  readonly takes: number;
}

const team: Team = { id: 1, name: "main", role: "admin" };
const principal: Principal = {
  userId: 1,
  username: "admin",
  isAdmin: true,
  via: { kind: "session", hash: "" },
  scopes: [],
  teams: [team],
};
const call = { principal, actor: operator, team };

export class ScheduledYear {
  now: number;
  /** How far the wall clock is off. */
  wrong = 0;
  readonly #dataDir: string;
  readonly #metrics = new ServerMetrics();
  readonly #keys = keyRing();
  readonly #plans = new Map<number, Planned>();

  constructor(dataDir: string, now: number) {
    this.#dataDir = dataDir;
    this.now = now;
  }

  close(): void {
    this.#metrics.close();
  }

  /** Creates one pipeline, and a schedule of it for each plan; returns their ids in order. */
  async prepare(store: Store, plans: readonly Planned[]): Promise<number[]> {
    await prepareStore(store, this.now);
    await prepareLocalCluster(store, 1, "none");
    const context: JobsContext = { ...this.#ground(store), timezone: "UTC", jobPaths: [], publicUrl: () => "" };
    const input = { query: "", query_type: "SHELL", start_after: "2099-01-01T00:00:00Z" } as const;
    const job = JSON.parse(await createJob(context, { ...call, input, idempotencyKey: undefined }, this.now));
    await recordMade(store, job.id, "target");
    const { name } = await triggerPipeline(context, call, { datasets: ["target"], review: true }, this.now);
    for (const [index, plan] of plans.entries()) {
      const body = { schedule_name: `plan ${index}`, pipeline_name: name, cron_expression: plan.expression, ...plan };
      this.#plans.set((await createTeamSchedule(context, call, body, this.now)).id, plan);
    }
    return [...this.#plans.keys()];
  }

  #ground(store: Store) {
    return {
      store,
      keys: this.#keys,
      signals: new Signals(),
      quotas: noQuotas,
    };
  }

  /** A server that has just started. */
  server(store: Store) {
    const clock = { now: () => this.now + this.wrong, monotonic: () => this.now };
    const disk = new Disk(this.#dataDir, 0, clock);
    return fireSchedules({
      ...this.#ground(store),
      clock,
      disk,
      log: pino({ level: "silent" }),
      metrics: this.#metrics,
    });
  }

  /** Ends runs whose time is up. */
  async endRuns(store: Store): Promise<void> {
    const watched = [...this.#plans].filter(([, { overlap }]) => overlap !== "allow");
    const newest = await store.db
      .selectFrom("schedules")
      .innerJoin("pipelines", "pipelines.id", "schedules.latest_pipeline_id")
      .select(["schedules.id as schedule", "pipelines.id as pipeline", "pipelines.created_at"])
      .where(
        "schedules.id",
        "in",
        watched.map(([id]) => id),
      )
      .where("pipelines.status", "=", "RUNNING")
      .execute();
    for (const { schedule, pipeline, created_at } of newest)
      if (Date.parse(created_at) + (this.#plans.get(schedule)?.takes ?? 0) <= this.now)
        await store.write((db) =>
          db.updateTable("pipelines").set({ status: "COMPLETED" }).where("id", "=", pipeline).execute(),
        );
  }

  /** Whether nothing is left to do now. */
  async isQuiet({ db }: Store): Promise<boolean> {
    const due = await teamsWithDueSchedules(db, iso(this.now));
    return due.length === 0 && (await readySchedules(db, 1)).length === 0;
  }

  /** When a schedule fired, in order. */
  async firings(store: Store, id: number): Promise<string[]> {
    const rows = await store.db
      .selectFrom("pipelines")
      .select("created_at")
      .where("schedule_id", "=", id)
      .where("is_template", "=", 0)
      .orderBy("id")
      .execute();
    return rows.map(({ created_at }) => created_at);
  }
}
