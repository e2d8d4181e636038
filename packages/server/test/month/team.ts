/** The people of the month and their actions, through the domain, as the API would call it. */
import type { JobInput, PipelineSchedule, ToldEvent } from "@millrace/contract";
import { recordMade } from "@millrace/testing/millrace/lineage.ts";
import { operator } from "../../src/domain/access/audit.ts";
import type { Principal, Team } from "../../src/domain/access/principals.ts";
import { setNotification } from "../../src/domain/events/notifications.ts";
import { createWebhook } from "../../src/domain/events/webhooks.ts";
import { createJob, type JobsContext } from "../../src/domain/jobs/jobs.ts";
import { addMember } from "../../src/domain/people/memberships.ts";
import { createServiceAccount } from "../../src/domain/people/service-accounts.ts";
import { changeUser, createUser } from "../../src/domain/people/users.ts";
import { triggerPipeline } from "../../src/domain/pipelines/pipelines.ts";
import { createTeamSchedule, updateTeamSchedule } from "../../src/domain/schedules/schedules.ts";
import { Signals } from "../../src/turns/signals.ts";
import { noQuotas } from "../support/quotas.ts";
import type { Ground } from "./month-server.ts";
import {
  type Deed,
  type Listener,
  type Person,
  type PlannedSchedule,
  type PlannedTask,
  serviceAccount,
} from "./plan.ts";

const team: Team = { id: 1, name: "main", role: "admin" };
const people = ["lead", "analyst", "contractor"] as const;
const ids: Record<Person | "admin", number> = { admin: 1, lead: 2, analyst: 3, contractor: 4 };

export class MonthTeam {
  readonly #ground: Ground;
  readonly #context: JobsContext;
  readonly #schedules = new Map<string, number>();
  readonly #scripts = new Map<string, number>();

  constructor(ground: Ground) {
    this.#ground = ground;
    const { store, keys } = ground;
    const frame = { timezone: "UTC", jobPaths: [], publicUrl: () => "" };
    this.#context = { store, keys, signals: new Signals(), quotas: noQuotas, ...frame };
  }

  get #now(): number {
    return this.#ground.clock.now();
  }

  #call(who: Person | "admin") {
    const via = { kind: "session", hash: "" } as const;
    const rights = { isAdmin: who === "admin", via, scopes: [], teams: [team] };
    const principal: Principal = { userId: ids[who], username: who, ...rights };
    return { principal, actor: operator, team };
  }

  async gather(): Promise<void> {
    const { store } = this.#ground;
    for (const username of people) {
      await createUser(store, operator, { username }, this.#now);
      await addMember(
        store,
        this.#call("admin"),
        { username, role: username === "lead" ? "admin" : "editor" },
        this.#now,
      );
    }
    await createServiceAccount(store, { actor: operator, team }, { account_name: serviceAccount }, this.#now);
  }

  async listen({ name, kind, events, states }: Listener, url: (path: string) => string): Promise<void> {
    const change = { team, actor: operator, now: this.#now };
    const told = events ? { events: [...events] as ToldEvent[] } : {};
    if (kind === "mail") {
      const address = `${name}@example.com`;
      await setNotification({ ...this.#context, sendsMail: true }, { address, ...told }, change);
    } else {
      const format = kind === "slack" ? "slack" : "json";
      const statuses = states ? { job_statuses: [...states] } : {};
      await createWebhook(this.#context, { url: url(`/${name}`), format, ...told, ...statuses }, change);
    }
  }

  /** A script that is run by hand; its text contains its number among those of the same name. */
  async runScript(runs: PlannedSchedule | PlannedTask, by: Person): Promise<void> {
    const number = (this.#scripts.get(runs.name) ?? 0) + 1;
    this.#scripts.set(runs.name, number);
    await this.#job(runs, by, { query: `${runs.name} ${number}` });
  }

  addTask(task: PlannedTask): Promise<void> {
    const { cron, timezone } = task;
    return this.#job(task, task.by, { query: `${task.name} 1`, cron_expression: cron, timezone });
  }

  async #job(
    runs: PlannedSchedule | PlannedTask,
    by: Person,
    rest: Partial<JobInput> & { query: string },
  ): Promise<void> {
    const { name, timeout, retries, retryDelay } = runs;
    const limits = {
      ...(timeout === undefined ? {} : { timeout: timeout * 60 }),
      ...(retries === undefined ? {} : { retries }),
      ...(retryDelay === undefined ? {} : { retry_delay: retryDelay * 60 }),
    };
    const input: JobInput = { query_type: "SHELL", query_name: name, ...limits, ...rest };
    await createJob(this.#context, { ...this.#call(by), input, idempotencyKey: undefined }, this.#now);
  }

  /** A schedule of the pipeline that creates the dataset of its name. */
  async addSchedule(schedule: PlannedSchedule): Promise<void> {
    const { name, by, cron, timezone, overlap, catchUp, follow, trigger, runsAs } = schedule;
    const call = this.#call(by);
    const asked = { datasets: [`@lead.default.${name}`], review: true };
    const pipeline = await triggerPipeline(this.#context, call, asked, this.#now);
    const input = {
      ...{ schedule_name: name, pipeline_name: pipeline.name, timezone },
      ...(cron ? { cron_expression: cron } : {}),
      ...(overlap ? { overlap } : {}),
      ...(catchUp ? { catch_up: catchUp } : {}),
      ...(follow ? { follow: "latest" as const } : {}),
      ...(trigger ? { trigger_dataset: `@lead.default.${trigger.by}`, quiet_seconds: trigger.quiet * 60 } : {}),
    };
    const { id } = await createTeamSchedule(this.#context, call, input, this.#now);
    this.#schedules.set(name, id);
    if (runsAs) await this.#update(name, { owner: runsAs });
  }

  #update(name: string, changes: Partial<Parameters<typeof updateTeamSchedule>[2]>): Promise<PipelineSchedule> {
    const schedule_id = this.#schedules.get(name) ?? 0;
    return updateTeamSchedule(this.#context, this.#call("lead"), { schedule_id, ...changes }, this.#now);
  }

  pause = (name: string, pause_pipeline: boolean) => this.#update(name, { pause_pipeline });

  async do(deed: Deed, runs: (name: string) => PlannedSchedule | PlannedTask): Promise<void> {
    const { store } = this.#ground;
    if (deed.what === "new script") return this.runScript(runs(deed.of), deed.by);
    if (deed.what === "refresh") return void (await this.#update(deed.of, { refresh: true }));
    if (deed.what === "hand over") return void (await this.#update(deed.of, { owner: deed.to }));
    if (deed.what === "foreign version") {
      const version = this.#ground.engine.nextVersion();
      return void (await recordMade(store, null, deed.of, { namespace: "@lead", version }));
    }
    const transfer = deed.transferTo ? { transfer_to: deed.transferTo } : {};
    const changes = { username: deed.who, disabled: true, ...transfer };
    await changeUser(store, this.#call("admin"), changes, this.#now);
  }
}
