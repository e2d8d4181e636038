/** Teams with tasks and schedules in a store, and the loops that fire them, with a clock that the test sets. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type {
  Backfill,
  CreateBackfillInput,
  CreatePipelineScheduleInput,
  Job,
  JobInput,
  Pipeline,
  PipelineSchedule,
  PipelineScheduleItem,
  Task,
  UpdatePipelineScheduleInput,
  UpdateTaskInput,
} from "@millrace/contract";
import { recordMade } from "@millrace/testing/millrace/lineage.ts";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { startPostgres } from "@millrace/testing/servers/postgres.ts";
import { pino } from "pino";
import { operator } from "../../src/domain/access/audit.ts";
import type { Principal, Team, Via } from "../../src/domain/access/principals.ts";
import { cancelJob, createJob, type JobsContext } from "../../src/domain/jobs/jobs.ts";
import { endJob } from "../../src/domain/lifecycle/end-job.ts";
import { prepareLocalCluster, prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { cancelPipeline, rerunPipeline, triggerPipeline } from "../../src/domain/pipelines/pipelines.ts";
import { createTeamBackfill, readTeamBackfill } from "../../src/domain/schedules/backfills.ts";
import {
  createTeamSchedule,
  deleteTeamSchedule,
  listTeamSchedules,
  readTeamSchedule,
  updateTeamSchedule,
} from "../../src/domain/schedules/schedules.ts";
import { fireTaskTick, type TaskFiring } from "../../src/domain/schedules/task-firings.ts";
import { listTeamTasks, readTeamTask, updateTeamTask } from "../../src/domain/schedules/tasks.ts";
import { iso } from "../../src/domain/time/clock.ts";
import { fireSchedules } from "../../src/loops/fire-schedules.ts";
import { fireTasks } from "../../src/loops/fire-tasks.ts";
import { fireTriggers } from "../../src/loops/fire-triggers.ts";
import type { Loop } from "../../src/loops/loop.ts";
import { runBackfills } from "../../src/loops/run-backfills.ts";
import { Disk } from "../../src/machine/disk.ts";
import { ServerMetrics } from "../../src/metrics/server-metrics.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { moveJob } from "../../src/store/queries/jobs/job-moves.ts";
import { dequeue } from "../../src/store/queries/jobs/queue.ts";
import { insertMembership } from "../../src/store/queries/people/memberships.ts";
import { setDatasetBytes } from "../../src/store/queries/people/team-usage.ts";
import { insertTeam, type TeamQuotas, updateTeam } from "../../src/store/queries/people/teams.ts";
import { Signals } from "../../src/turns/signals.ts";
import { keyRing } from "./keys.ts";
import { noQuotas } from "./quotas.ts";

type Quotas = Partial<TeamQuotas>;

export interface OpenGround {
  readonly ground: FiringGround;
  readonly store: Store;
  close(): Promise<void>;
}

/** Creates a fixture on a separate store of the given kind. */
export async function openGround(kind: "SQLite" | "PostgreSQL"): Promise<OpenGround> {
  const dataDir = await mkdtemp(join(tmpdir(), "millrace-ground-"));
  const postgres = kind === "PostgreSQL" ? await startPostgres() : undefined;
  const store = await openStore(storeIn(dataDir, (await postgres?.createDatabase()) ?? ""));
  const ground = new FiringGround(store, dataDir);
  await ground.prepare();
  const close = async () => {
    ground.metrics.close();
    await store.close();
    await postgres?.stop();
    await rm(dataDir, { recursive: true });
  };
  return { ground, store, close };
}

export class FiringGround {
  now = Date.UTC(2030, 0, 1);
  readonly store: Store;
  readonly metrics = new ServerMetrics();
  readonly #dataDir: string;
  readonly #keys = keyRing();
  readonly #context: JobsContext;

  constructor(store: Store, dataDir: string) {
    this.store = store;
    this.#dataDir = dataDir;
    this.#context = { ...this.#ground(store), timezone: "UTC", jobPaths: [], publicUrl: () => "" };
  }

  #ground(store: Store) {
    const quotas = noQuotas;
    return { store, keys: this.#keys, signals: new Signals(), quotas };
  }

  async prepare(): Promise<void> {
    await prepareStore(this.store, this.now);
    await prepareLocalCluster(this.store, 1, "none");
  }

  async team(name: string, quotas: Quotas = {}): Promise<Team> {
    const id = await this.store.write(async (db) => {
      const made = (await insertTeam(db, { name, created_at: iso(this.now), ...quotas })) as number;
      await insertMembership(db, made, 1, "admin");
      return made;
    });
    return { id, name, role: "admin" };
  }

  setQuotas = ({ id }: Team, quotas: Quotas) => this.store.write((db) => updateTeam(db, id, quotas));

  setDatasets = ({ id }: Team, bytes: number) => this.store.write((db) => setDatasetBytes(db, id, bytes));

  /** A signed-in user, or a job with its own token. */
  #call(team: Team, jobId?: string) {
    const via: Via =
      jobId === undefined ? { kind: "session", hash: "" } : { kind: "job", jobId, tokenId: null, tokenEnd: undefined };
    const principal: Principal = { userId: 1, username: "admin", isAdmin: true, via, scopes: [], teams: [team] };
    return { principal, actor: operator, team };
  }

  async job(team: Team, rest: Partial<JobInput>, by?: string): Promise<Job> {
    const input: JobInput = { query: "", query_type: "SHELL", ...rest };
    return JSON.parse(
      await createJob(this.#context, { ...this.#call(team, by), input, idempotencyKey: undefined }, this.now),
    );
  }

  tasks = (team: Team, count: number, rest: Partial<JobInput> = {}): Promise<Job[]> =>
    Promise.all([...Array(count)].map(() => this.job(team, { cron_expression: "* * * * *", ...rest })));

  updateTask = (team: Team, { id }: { readonly id: string }, changes: UpdateTaskInput): Promise<Task> =>
    updateTeamTask(this.#context, this.#call(team), { ...changes, job_id: id }, this.now);

  readTask = (team: Team, { id }: { readonly id: string }): Promise<Task> => readTeamTask(this.#context, team, id);

  listTasks = (team: Team, asked: { cursor?: string; limit?: number }) => listTeamTasks(this.#context, team, asked);

  /** Fires the task like a server that has seen this tick earlier and handles it only now. */
  fireTick = ({ id }: { readonly id: string }, tick: string): Promise<TaskFiring | undefined> =>
    this.store.write((db) => fireTaskTick(db, this.#ground(this.store), { job_id: id, next_run: tick }, this.now));

  cancelTask = (team: Team, { id }: { readonly id: string }): Promise<string> =>
    cancelJob(this.#context, { actor: operator, team }, id, this.now);

  /** Returns the name of a pipeline from which schedules can be created. */
  async pipeline(team: Team): Promise<string> {
    const made = await this.job(team, { start_after: "2099-01-01T00:00:00Z" });
    await recordMade(this.store, made.id, "target", { teamId: team.id });
    const asked = { datasets: ["target"], review: true };
    return (await triggerPipeline(this.#context, this.#call(team), asked, this.now)).name;
  }

  /** Creates a schedule from what `pipeline` created. */
  trigger = (team: Team, by?: string): Promise<Pipeline> =>
    triggerPipeline(this.#context, this.#call(team, by), { datasets: ["target"] }, this.now);

  /** Starts a failed pipeline again, with the token of a job. */
  rerun = (team: Team, name: string, by: string): Promise<Pipeline> =>
    rerunPipeline(this.#context, this.#call(team, by), { name }, this.now);

  schedule = (
    team: Team,
    pipeline_name: string,
    schedule_name: string,
    rest: Partial<CreatePipelineScheduleInput> = {},
  ): Promise<PipelineSchedule> =>
    createTeamSchedule(
      this.#context,
      this.#call(team),
      { cron_expression: "* * * * *", ...rest, schedule_name, pipeline_name },
      this.now,
    );

  updateSchedule = (team: Team, input: UpdatePipelineScheduleInput): Promise<PipelineSchedule> =>
    updateTeamSchedule(this.#context, this.#call(team), input, this.now);

  pauseSchedule = (team: Team, schedule_id: number, pause_pipeline: boolean): Promise<PipelineSchedule> =>
    updateTeamSchedule(this.#context, this.#call(team), { schedule_id, pause_pipeline }, this.now);

  deleteSchedule = (team: Team, id: number): Promise<void> =>
    deleteTeamSchedule(this.#context, this.#call(team), id, this.now);

  readSchedule = (team: Team, id: number): Promise<PipelineSchedule> =>
    readTeamSchedule(this.#context, team, id, this.now);

  listSchedules = async (team: Team, store: Store = this.store): Promise<readonly PipelineScheduleItem[]> =>
    (await listTeamSchedules({ ...this.#context, store }, team, undefined, this.now)).schedules;

  /** Ends the unfinished jobs of the newest run of a schedule, as an engine would. */
  async endRun({ latest_run }: PipelineSchedule, to: "COMPLETE" | "FAILED", error_message?: string): Promise<void> {
    for (const { created_job_id: id } of latest_run?.job_runs ?? [])
      if (id !== null) await this.endJob(id, to, error_message);
  }

  /** Ends a waiting job, as an engine would. */
  endJob = (id: string, to: "COMPLETE" | "FAILED", error_message?: string): Promise<void> =>
    this.store.write(async (db) => {
      if (!(await dequeue(db, id))) return;
      await moveJob(db, { id, from: ["CREATED", "SCHEDULED", "QUEUED"], to: "INIT" });
      const changes = { finished_at: iso(this.now), error_message: error_message ?? null };
      await endJob(db, { id, from: ["INIT"], to, changes }, this.now);
    });

  cancelRun = ({ latest_run }: PipelineSchedule, team: Team) =>
    cancelPipeline(this.#context, this.#call(team), { name: latest_run?.name ?? "" }, this.now);
  backfill = (team: Team, input: CreateBackfillInput): Promise<Backfill> =>
    createTeamBackfill(this.#context, this.#call(team), input, this.now);

  readBackfill = (team: Team, id: number): Promise<Backfill> => readTeamBackfill(this.#context, team, id);

  /** Returns the loop of a server that has just started. */
  loop(of: "tasks" | "schedules" | "triggers" | "backfills", store: Store = this.store): Loop {
    const clock = { now: () => this.now, monotonic: () => this.now };
    const disk = new Disk(this.#dataDir, 0, clock);
    const ground = { ...this.#ground(store), clock, disk, log: pino({ level: "silent" }), metrics: this.metrics };
    if (of === "backfills") return runBackfills(ground);
    if (of === "triggers") return fireTriggers(ground);
    return of === "tasks" ? fireTasks(ground) : fireSchedules(ground);
  }

  /** When each of these tasks fired. */
  async firings(tasks: readonly Job[]): Promise<string[][]> {
    const rows = await this.store.db
      .selectFrom("jobs")
      .select(["parent_job_id", "created_at"])
      .where("parent_job_id", "is not", null)
      .orderBy("id")
      .execute();
    return tasks.map(({ id }) => rows.filter((row) => row.parent_job_id === id).map((row) => row.created_at));
  }

  /** Pipelines that schedules of the team have started. */
  async started({ id }: Team): Promise<number> {
    const query = this.store.db.selectFrom("pipelines").select("id").where("team_id", "=", id);
    return (await query.where("is_template", "=", 0).where("schedule_id", "is not", null).execute()).length;
  }
}

/** Runs rounds without a pause until the loop has nothing to do; returns their number. */
export async function turnsOf(loop: Loop): Promise<number> {
  for (let turns = 1; ; turns++) {
    const seen = loop.signal.count;
    await loop.runOnce();
    let isWoken = false;
    const pause = new AbortController();
    const waited = loop.signal.wait(600_000, seen, pause.signal).then(() => {
      isWoken = !pause.signal.aborted;
    });
    await new Promise(setImmediate);
    pause.abort();
    await waited;
    if (!isWoken) return turns;
  }
}
