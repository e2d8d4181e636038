/** The result of a month according to the store: outcomes of ticks, courses of runs, and when something is due next. */
import { sql } from "kysely";
import { readSpec } from "../../src/domain/lifecycle/job-documents.ts";
import { attemptKey } from "../../src/engines/engine.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { minute } from "./plan.ts";
import type { Begun } from "./played-engine.ts";
import type { Entry, MonthRecord, Run, TaskRecord } from "./record.ts";

interface FiringRow {
  readonly id: number;
  readonly schedule_id: number;
  readonly tick: string;
  readonly ticks: number;
  readonly outcome: string;
  readonly reason: string | null;
  readonly pipeline_id: string | null;
}

const iso = (time: number) => new Date(time).toISOString();
/** Moments are exact to the minute. */
export const toMinute = (time: string) => iso(Math.floor(Date.parse(time) / minute) * minute);

export class StoreRecord {
  readonly #store: Store;
  readonly #firings = new Map<number, FiringRow>();
  #newest = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** A schedule keeps its last 50 firings, so they are recorded here as they occur. */
  async follow(): Promise<void> {
    const waiting = [...this.#firings.values()].filter(({ outcome }) => outcome === "waits").map(({ id }) => id);
    const rows = await this.#store.db
      .selectFrom("firings")
      .selectAll()
      .where((eb) => eb.or([eb("id", ">", this.#newest), eb("id", "in", [...waiting, 0])]))
      .orderBy("id")
      .execute();
    for (const row of rows) {
      this.#firings.set(row.id, row);
      this.#newest = Math.max(this.#newest, row.id);
    }
  }

  /** The next time after this one at which something in the store is due. */
  async dueTimes(now: number, begunAt: (key: string) => number | undefined): Promise<number[]> {
    const { db } = this.#store;
    const after = iso(now);
    const next = (table: string, column: string) =>
      sql`select min(${sql.ref(column)}) as due from ${sql.table(table)} where ${sql.ref(column)} > ${after}`;
    const { rows } = await sql<{ due: string | null }>`
      ${next("schedules", "next_run")} union ${next("tasks", "next_run")} union ${next("schedule_notices", "due_at")}
      union ${next("queue", "not_before")} union ${next("deliveries", "next_at")}`.execute(db);
    const limited = await db.selectFrom("attempts").selectAll().where("timeout", "is not", null).execute();
    const limits = limited.flatMap(({ job_id, attempt, timeout }) => {
      const begun = begunAt(attemptKey(job_id, attempt));
      return begun === undefined ? [] : [begun + (timeout ?? 0) * 1000 + 1000];
    });
    return [...rows.flatMap(({ due }) => (due === null ? [] : [Date.parse(due)])), ...limits];
  }

  /** The time of the next waiting delivery; undefined if there is none. */
  async nextDelivery(now: number): Promise<number | undefined> {
    const rows = await this.#store.db
      .selectFrom("deliveries")
      .select("next_at")
      .where("status", "=", "pending")
      .execute();
    const times = rows.flatMap(({ next_at }) => (next_at === null ? [] : [Date.parse(next_at)]));
    if (times.length === 0) return undefined;
    return Math.max(now + 1000, Math.min(...times));
  }

  async read(attempts: readonly Begun[]): Promise<Omit<MonthRecord, "told">> {
    const runs = await this.#runs(attempts);
    const schedules = await this.#store.db.selectFrom("schedules").select(["id", "name"]).execute();
    const entriesOf = (id: number): Entry[] =>
      [...this.#firings.values()]
        .filter(({ schedule_id }) => schedule_id === id)
        .map(({ tick, ticks, outcome, reason, pipeline_id }) => ({
          ...{ tick: toMinute(tick), ticks, outcome, why: whyOf(reason) },
          run: pipeline_id === null ? null : (runs.ofPipelines.get(pipeline_id) ?? null),
        }));
    const tasks = await this.#store.db
      .selectFrom("tasks")
      .innerJoin("jobs", "jobs.id", "tasks.job_id")
      .select(["job_id", "name", "skips", "last_error"])
      .execute();
    const taskOf = (id: string, skipped: number, why: string | null): TaskRecord => ({
      runs: runs.ofTasks.get(id) ?? [],
      skipped,
      why: whyOf(why),
    });
    return {
      schedules: Object.fromEntries(schedules.map(({ id, name }) => [name, entriesOf(id)])),
      tasks: Object.fromEntries(
        tasks.map(({ job_id, name, skips, last_error }) => [name, taskOf(job_id, skips, last_error)]),
      ),
    };
  }

  /** Runs by their pipeline or task. */
  async #runs(attempts: readonly Begun[]) {
    const { db } = this.#store;
    const jobs = await db
      .selectFrom("jobs")
      .innerJoin("users", "users.id", "jobs.user_id")
      .select([
        "jobs.id",
        "pipeline_id",
        "parent_job_id",
        "status",
        "spec",
        "username",
        "error_message",
        "jobs.finished_at",
      ])
      .orderBy("jobs.id")
      .execute();
    const failed = await db.selectFrom("ended_attempts").selectAll().orderBy("attempt").execute();
    const pipelines = await db
      .selectFrom("pipelines")
      .select(["id", "status", "scheduled_at"])
      .where("is_template", "=", 0)
      .where("schedule_id", "is not", null)
      .execute();
    const runOf = (job: (typeof jobs)[number]): Run => {
      const begun = attempts.find(({ jobId }) => jobId === job.id);
      const before = failed.filter(({ job_id }) => job_id === job.id).map((one) => howFailed(one.error_message));
      const last =
        job.status === "COMPLETE"
          ? (["succeeded"] as const)
          : job.status === "FAILED"
            ? [howFailed(job.error_message)]
            : [];
      return {
        moment: toMinute(readSpec(job).scheduled_at ?? ""),
        as: begun ? job.username : null,
        script: begun?.script ?? null,
        attempts: last.length > 0 ? [...before, ...last] : [],
        until: last.length > 0 && job.finished_at ? toMinute(job.finished_at) : null,
        end: job.status === "COMPLETE" ? "COMPLETED" : job.status === "FAILED" ? "FAILED" : "RUNNING",
      };
    };
    const ofTasks = Map.groupBy(
      jobs.filter(({ parent_job_id }) => parent_job_id !== null),
      ({ parent_job_id }) => parent_job_id as string,
    );
    const ofPipelines = pipelines.map(({ id, status, scheduled_at }) => {
      const [job] = jobs.filter(({ pipeline_id }) => pipeline_id === id);
      const none = {
        moment: toMinute(scheduled_at ?? ""),
        as: null,
        script: null,
        attempts: [],
        until: null,
        end: "FAILED" as const,
      };
      if (!job) return [id, none] as const;
      return [id, { ...runOf(job), end: endOf(status) }] as const;
    });
    return {
      ofPipelines: new Map<string, Run>(ofPipelines),
      ofTasks: new Map([...ofTasks].map(([id, of]) => [id, of.map(runOf)])),
    };
  }
}

const endOf = (status: string) => (status === "COMPLETED" || status === "FAILED" ? status : "RUNNING");

const howFailed = (why: string | null): Run["attempts"][number] =>
  /ran longer than its limit/.test(why ?? "") ? "timed out" : "failed";

/** Maps reasons, which are texts for people, to their meaning. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [/^the run .* is still going \(overlap is (skip|wait)\)/, "the last run is still going"],
  [/^the tick of .* waits already/, "one waits already"],
  [/^it was not fired in time, because no server ran/, "not in time"],
  [/belongs to contractor, who is disabled/, "its owner is gone"],
  [/was not created by a job, so there is nothing to run again/, "the newest scripts cannot be run"],
];

function whyOf(reason: string | null): string | null {
  return reason === null ? null : (reasons.find(([pattern]) => pattern.test(reason))?.[1] ?? reason);
}
