/**
 * A team whose schedules fail, recover, skip and are overdue, driven over the API of a server that may be killed at any
 * time, and the events that must be reported.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Client, createClient, isUnfinished, type Pipeline, routes } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import type { TestServer } from "@millrace/testing/millrace/server.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { tellOverdue } from "../../packages/server/src/loops/tell-overdue.ts";
import { openStore } from "../../packages/server/src/store/opening/open-store.ts";

export const nightEvents = [
  "pipeline.failure",
  "pipeline.recovery",
  "schedule.failure",
  "schedule.recovery",
  "schedule.skip",
  "schedule.overdue",
] as const;

/** An event to report, and the name of its pipeline or schedule. */
export type NightEvent = `${(typeof nightEvents)[number]} ${string}`;

const hour = 3_600_000;
const team = "nights";

/** Repeats until it is answered; a request before a kill may take effect twice. */
export async function persistently<T>(call: () => Promise<T>, seconds = 120): Promise<T> {
  for (const deadline = Date.now() + 1000 * seconds; ; ) {
    try {
      return await call();
    } catch (error) {
      const refused = error instanceof ApiError && error.status < 500;
      if (refused || Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
}

export class ToldNights {
  readonly client: Client;
  readonly #databaseUrl: string;
  readonly #server: TestServer;
  /** Files that runs check: `busy` runs while its file exists, `flaky` fails while its own exists. */
  readonly #flags: string;
  readonly #schedules = new Map<string, number>();
  #wasLate = false;

  /** Creates the team, its datasets and the pipelines of its schedules; the server must be running. */
  static async prepare(server: TestServer, databaseUrl: string, token: string): Promise<ToldNights> {
    const client = createClient({ url: server.url, token, team });
    await client.call(routes.createTeam, { body: { name: team } });
    const flags = await mkdtemp(join(tmpdir(), "millrace-nights-"));
    const nights = new ToldNights(server, databaseUrl, client, flags);
    const store = await openStore(storeIn(server.dataDir, databaseUrl));
    const { id: teamId } = await store.db
      .selectFrom("teams")
      .select("id")
      .where("name", "=", team)
      .executeTakeFirstOrThrow();
    const scripts = {
      busy: `while [ -e '${flags}/busy' ]; do sleep 0.2; done`,
      flaky: `[ ! -e '${flags}/flaky' ]`,
      refused: "exit 0",
      late: "exit 0",
    };
    for (const [name, script] of Object.entries(scripts)) {
      await writeFile(join(flags, name), "");
      await makeDataset({ store, client }, name, script, { teamId });
    }
    await store.close();
    return nights;
  }

  private constructor(server: TestServer, databaseUrl: string, client: Client, flags: string) {
    this.#server = server;
    this.#databaseUrl = databaseUrl;
    this.client = client;
    this.#flags = flags;
  }

  /** Everything that happens while the server is killed and restarted. */
  async play(): Promise<void> {
    await this.#schedule("late", Date.now() + hour);
    // Before the other schedules exist: by the clock that is ahead they would be overdue, too, until they have fired.
    await this.#until(async () => this.#wasLate);
    await this.#schedule("busy", Date.now(), "skip");
    await this.#schedule("flaky");
    await this.#ended("flaky", "FAILED");
    await rm(join(this.#flags, "flaky"));
    await this.#fire("flaky");
    await this.#ended("flaky", "COMPLETED");
    await this.#refuse();
    await this.#fire("busy");
    await this.#until(async () => (await this.#read("busy")).skipped > 0);
  }

  /** A full queue prevents a schedule from starting anything; then there is room again. */
  async #refuse(): Promise<void> {
    const retry = { retries: 1, retry_delay: 3600, query_name: "waits.sh" };
    const headers = { "idempotency-key": "waits" };
    await persistently(() => this.client.call(routes.createJob, { body: shell("exit 1", retry) }, { headers }));
    await this.#until(async () => {
      const [job] = await this.client.call(routes.listJobs, { query: { name: "waits.sh" } });
      return job?.status === "QUEUED" && job.retried === 1;
    });
    await this.#setQueued(1);
    await this.#schedule("refused");
    await this.#until(async () => (await this.#read("refused")).last_error !== null);
    await this.#setQueued(1000);
    await this.#fire("refused");
    await this.#ended("refused", "COMPLETED");
  }

  /**
   * Call this while the server is down. A server that fires nothing, for example because its disk is full, reports that
   * after a minute, at its second check half a minute later. Its loop runs here, with a clock that is two hours ahead,
   * and dies.
   */
  async beLate(): Promise<void> {
    if (this.#wasLate || !this.#schedules.has("late")) return;
    this.#wasLate = true;
    const store = await openStore(storeIn(this.#server.dataDir, this.#databaseUrl));
    const ahead = () => Date.now() + 2 * hour;
    const loop = tellOverdue({ store, clock: { now: ahead, monotonic: ahead } });
    for (let look = 0; look < 2; look++) await loop.runOnce();
    await store.close();
  }

  /** The events that must have been reported at the end, and no others. */
  async expected(): Promise<NightEvent[]> {
    assert.ok(this.#wasLate, "the server was down when there was something to be late");
    const runs = (await this.client.call(routes.listPipelines, { query: { limit: 100 } })).filter(
      ({ schedule_name }) => schedule_name !== null,
    );
    const named = (status: Pipeline["status"], schedule: string) =>
      runs.filter((run) => run.status === status && run.schedule_name === schedule).map(({ name }) => name);
    // Newest first: the first success in the list is the last in time.
    const recovered = named("COMPLETED", "flaky").at(-1);
    return [
      ...named("FAILED", "flaky").map((name) => `pipeline.failure ${name}` as const),
      `pipeline.recovery ${recovered}`,
      ...(["failure", "recovery"] as const).map((what) => `schedule.${what} refused` as const),
      "schedule.skip busy",
      "schedule.overdue late",
    ];
  }

  /** Ends active runs. */
  async dispose(): Promise<void> {
    await rm(this.#flags, { recursive: true, force: true });
  }

  /** A schedule that fires once, now, and again whenever it gets a new time. */
  async #schedule(name: string, at = Date.now(), overlap: "skip" | "allow" = "allow"): Promise<void> {
    const { pipeline } = await persistently(() =>
      this.client.call(routes.triggerPipeline, { body: { datasets: [name], review: true } }),
    );
    const times = { start_after: new Date(at).toISOString(), overlap };
    const body = { ...times, schedule_name: name, pipeline_name: pipeline.name };
    await persistently(() => this.client.call(routes.createSchedule, { body })).catch((error: unknown) => {
      // It was created by the request whose answer was lost.
      if (!(error instanceof ApiError && error.status === 409)) throw error;
    });
    const all = await persistently(() => this.client.call(routes.listSchedules, { query: {} }));
    this.#schedules.set(name, all.find((one) => one.schedule_name === name)?.id ?? 0);
  }

  async #fire(name: string): Promise<void> {
    const body = { schedule_id: this.#schedules.get(name) ?? 0, start_after: new Date().toISOString() };
    await persistently(() => this.client.call(routes.updateSchedule, { body }));
  }

  #read(name: string) {
    const query = { schedule_id: this.#schedules.get(name) ?? 0 };
    return persistently(() => this.client.call(routes.getSchedule, { query }));
  }

  async #setQueued(max_queued: number): Promise<void> {
    const asked = { params: { team_name: team }, body: { max_queued } };
    await persistently(() => this.client.call(routes.updateTeam, asked));
  }

  /** Waits until it has a run with this end, and no active one. */
  #ended(name: string, status: Pipeline["status"]): Promise<void> {
    return this.#until(async () => {
      const runs = await this.client.call(routes.listPipelines, { query: { limit: 100 } });
      const own = runs.filter(({ schedule_name }) => schedule_name === name);
      return own.some((run) => run.status === status) && !own.some((run) => isUnfinished(run.status));
    });
  }

  async #until(ask: () => Promise<boolean>): Promise<void> {
    for (const deadline = Date.now() + 120_000; !(await persistently(ask)); await sleep(50))
      assert.ok(Date.now() < deadline, `not within two minutes: ${ask}`);
  }
}
