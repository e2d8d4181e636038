/** Retention deletes what is older than its limit, and nothing else. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient, routes } from "@millrace/contract";
import { createJob, readLog, runJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { pino } from "pino";
import WebSocket from "ws";
import { type RunningServer, startServer } from "../../src/app/server.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { jobIdAt } from "../../src/domain/lifecycle/job-ids.ts";
import { createAdminToken } from "../../src/domain/people/tokens.ts";
import { day, iso } from "../../src/domain/time/clock.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { KeptEnvironments } from "../../src/engines/local/environments/kept-environments.ts";
import { Engines } from "../../src/engines/registry.ts";
import { keepEnvironments } from "../../src/loops/keep-environments.ts";
import { removeOldEnvironments } from "../../src/loops/old-environments.ts";
import { type RetentionContext, removeOldLogs, removeOldRows } from "../../src/loops/retention.ts";
import type { Disk } from "../../src/machine/disk.ts";
import { takeKey } from "../../src/store/queries/jobs/idempotency-keys.ts";
import { usageOf } from "../../src/store/queries/people/team-usage.ts";
import { insertTeam } from "../../src/store/queries/people/teams.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { noQuotas } from "../support/quotas.ts";
import { until } from "../support/until.ts";

const log = pino({ level: "silent" });
const exists = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );

describe("retention", () => {
  let server: InProcessServer;
  let client: Client;
  let now = Date.now();
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());

  const context = (): RetentionContext => ({
    store: server.store,
    clock: { now: () => now, monotonic: () => now },
    log,
    engines: server.engines,
    logDays: 90,
    auditDays: 365,
    deliveryDays: 30,
  });

  it("deletes the log and the folder of a job that ended long ago; the job itself stays", async () => {
    const { job: old } = await runJob(client, shell("echo old"));
    const long = await createJob(client, shell("echo long; sleep 60"));
    await until(async () => (await readLog(client, long.id)) === "long\n");
    now = Date.now() + 89 * day;
    await removeOldLogs(context());
    assert.equal(await readLog(client, old.id), "old\n");
    now = Date.now() + 91 * day;
    await removeOldLogs(context());
    assert.equal(await exists(join(server.dataDir, "jobs", `${old.id}.1`)), false);
    assert.equal(await readLog(client, long.id), "long\n", "a job that runs keeps its log, however old it is");
    const [kept] = await client.call(routes.listJobs, { query: { job_id: old.id } });
    assert.deepEqual([kept?.status, kept?.exit_code], ["COMPLETE", 0]);

    const removed = new RegExp(`The log of job ${old.id} was removed on ${iso(now).slice(0, 10)}`);
    for (const format of ["text", "json"] as const) {
      const refused = client.request(routes.getJobLogs, { params: { job_id: old.id }, query: { format } });
      await assert.rejects(refused, { code: "not_found", message: removed });
    }
    assert.match((await follow(old.id)).message ?? "", removed);
    await client.call(routes.cancelJob, { params: { job_id: long.id }, body: {} });
  });

  it("completes in the next pass if a server died between the two steps", async () => {
    const { job } = await runJob(client, shell("echo x"));
    await rm(join(server.dataDir, "jobs", `${job.id}.1`), { recursive: true });
    assert.equal(await readLog(client, job.id), "");
    now = Date.now() + 91 * day;
    await removeOldLogs(context());
    await assert.rejects(readLog(client, job.id), { code: "not_found", message: /was removed on/ });
  });

  it("keeps logs forever with 0 days", async () => {
    const { job } = await runJob(client, shell("echo kept"));
    now = Date.now() + 10_000 * day;
    await removeOldLogs({ ...context(), logDays: 0 });
    assert.equal(await readLog(client, job.id), "kept\n");
  });

  it("deletes old idempotency keys, audit rows and used invitations, in small writes", async () => {
    now = Date.now();
    const at = (days: number) => iso(now - days * day);
    const audited = {
      user_id: null,
      username: "",
      via: "",
      address: "",
      action: "",
      team_id: null,
      target: "",
      detail: "",
    };
    const invited = { team_id: 1, role: "viewer" as const, email: "", created_by: 1, created_at: at(99) };
    const open = { used_at: null, used_by: null, revoked_at: null };
    await server.store.write(async (db) => {
      for (let i = 0; i < 1100; i++)
        await takeKey(db, { team_id: 1, user_id: 1, key: `old ${i}` }, newOldId(now - 8 * day, i));
      await takeKey(db, { team_id: 1, user_id: 1, key: "young" }, newOldId(now - 6 * day, 0));
      for (const days of [400, 366, 364])
        await db
          .insertInto("audit")
          .values({ ...audited, at: at(days) })
          .execute();
      const invitations = [
        { hash: "expired", expires_at: at(31), ...open },
        { hash: "used", expires_at: at(-1), ...open, used_at: at(31) },
        { hash: "revoked", expires_at: at(-1), ...open, revoked_at: at(31) },
        { hash: "recent", expires_at: at(29), ...open },
        { hash: "open", expires_at: at(-1), ...open },
      ];
      await db
        .insertInto("invitations")
        .values(invitations.map((row) => ({ ...invited, ...row })))
        .execute();
    });
    await removeOldRows(context());
    const { db } = server.store;
    assert.deepEqual(
      (await db.selectFrom("idempotency_keys").select("key").execute()).map(({ key }) => key),
      ["young"],
    );
    assert.equal((await db.selectFrom("audit").select("id").where("at", "<", at(100)).execute()).length, 1);
    const left = (await db.selectFrom("invitations").select("hash").execute()).map(({ hash }) => hash);
    assert.deepEqual(left.sort(), ["open", "recent"]);
  });

  const newOldId = (time: number, index: number) => jobIdAt(time).replace(/0{12}$/, String(index).padStart(12, "0"));

  async function follow(id: string): Promise<{ message?: string }> {
    const url = `${server.url.replace("http", "ws")}/api/logs/follow/?job_id=${id}&team_name=main`;
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${await server.token()}` } });
    const [data] = (await once(socket, "message")) as [Buffer];
    await once(socket, "close");
    return JSON.parse(data.toString()) as { message?: string };
  }
});

/** Engines of which one manages the virtualenvs of this folder. */
const keeping = (envsDir: string, environmentOf: (key: string) => string = () => "") => {
  const environments = new KeptEnvironments({ envsDir, environmentOf, onRemoved: () => {} });
  return new Engines([[1, { environments } as unknown as Engine]]);
};

describe("old virtualenvs", () => {
  let server: InProcessServer;
  let envsDir: string;
  before(async () => {
    server = await startInProcess();
    // Not the server's own folder, which its sweep would also examine.
    envsDir = await mkdtemp(join(tmpdir(), "millrace-envs-"));
  });
  after(async () => {
    await server.dispose();
    await rm(envsDir, { recursive: true, force: true });
  });

  const make = async (name: string, daysAgo: number) => {
    await mkdir(join(envsDir, name, "bin"), { recursive: true });
    await writeFile(join(envsDir, `${name}.ready`), "");
    const used = Date.now() / 1000 - daysAgo * 86_400;
    await utimes(join(envsDir, `${name}.ready`), used, used);
  };
  const sweep = (envDays = 30) =>
    removeOldEnvironments({
      store: server.store,
      clock: { now: () => Date.now(), monotonic: () => 0 },
      engines: keeping(envsDir),
      envDays,
    });
  const left = async () => (await readdir(envsDir)).filter((name) => !/\.(lock|ready)$/.test(name)).sort();

  it("are deleted after some time without use, unless they are in use or being built", async () => {
    await make("old", 31);
    await make("young", 29);
    await make("locked", 31);
    await mkdir(join(envsDir, "building"));
    const holder = spawn("flock", [join(envsDir, "locked.lock"), "sh", "-c", "echo held; sleep 60"], {
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    await once(holder.stdout, "data");
    await sweep(0);
    assert.deepEqual(await left(), ["building", "locked", "old", "young"]);
    await sweep();
    assert.deepEqual(await left(), ["building", "locked", "young"]);
    process.kill(-(holder.pid ?? 0), "SIGKILL");
    await once(holder, "close");
    await sweep();
    assert.deepEqual(await left(), ["building", "young"]);
  });

  const mebibyte = 1024 ** 2;
  it("of a team are deleted beyond its quota, least recently used first, except those of running jobs", async () => {
    const team = async (name: string) =>
      (await server.store.write((db) => insertTeam(db, { name, created_at: iso(Date.now()) }))) ?? 0;
    const [mine, others] = [await team("mine"), await team("others")];
    for (const [index, name] of ["a", "b", "c", "d"].entries()) {
      await make(`${mine}/${name}`, 10 - index);
      await writeFile(join(envsDir, `${mine}/${name}/large`), Buffer.alloc(mebibyte, 1));
      await writeFile(join(envsDir, `${mine}/${name}.size`), `${mebibyte}\n`);
    }
    await make(`${others}/old`, 20);
    const client = await server.client();
    const job = await createJob(client, shell("sleep 60"));
    await waitForStatus(client, job.id, ["RUNNING"]);
    const [attempt] = await server.store.db.selectFrom("attempts").selectAll().where("job_id", "=", job.id).execute();
    const used = new Map([[`${job.id}.${attempt?.attempt}`, join(envsDir, `${mine}/a`)]]);
    const keep = (quota: number, isLow = false) =>
      keepEnvironments({
        store: server.store,
        clock: { now: () => Date.now(), monotonic: () => 0 },
        engines: keeping(envsDir, (key) => used.get(key) ?? ""),
        serverId: attempt?.server_id ?? "",
        disk: { isLow: async (more = 0) => isLow && more > -1.5 * mebibyte } as unknown as Disk,
        quotas: { ...noQuotas, environments: quota },
      }).runOnce();
    const kept = async () =>
      (await readdir(join(envsDir, String(mine)))).filter((name) => /^[a-d]$/.test(name)).join("");
    await keep(0);
    assert.equal(await kept(), "abcd");
    await mkdir(join(envsDir, `${mine}/cache`));
    await writeFile(join(envsDir, `${mine}/cache/package`), Buffer.alloc(mebibyte, 1));
    await keep(2.5 * mebibyte);
    assert.equal(await kept(), "ad", "a is in use; b and c were used before d");
    assert.deepEqual(
      (await readdir(join(envsDir, String(mine)))).filter((name) => name.startsWith("cache")),
      ["cache.lock"],
      "what they shared goes with the first of them",
    );
    const { environments } = await usageOf(server.store.db, mine);
    assert.ok(environments >= 2 * mebibyte && environments < 2.2 * mebibyte, String(environments));
    await keep(0, true);
    assert.equal(await kept(), "a", "on a full disk whatever nobody uses goes");
    assert.ok(!(await readdir(join(envsDir, String(others)))).includes("old"), "whosever it is");
    const cache = join(envsDir, `${mine}/cache`);
    const building = spawn("flock", ["-s", `${cache}.lock`, "sh", "-c", "echo builds; exec sleep 100"], {
      detached: true,
    });
    await once(building.stdout, "data");
    for (const [quota, isLow] of [
      [1.5 * mebibyte, false],
      [0, true],
    ] as const) {
      await mkdir(cache);
      await writeFile(join(cache, "package"), Buffer.alloc(mebibyte, 1));
      await keep(quota, isLow);
      assert.ok(!(await exists(cache)), "a build that goes on does not keep the cache");
    }
    process.kill(-(building.pid ?? 0), "SIGKILL");
    await once(building, "close");
    await client.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
    for (const name of [mine, others]) await rm(join(envsDir, String(name)), { recursive: true });
  });

  it("are kept while a job runs that started before their last use", async () => {
    const client = await server.client();
    const job = await createJob(client, shell("sleep 60"));
    await waitForStatus(client, job.id, ["RUNNING"]);
    await server.store.write((db) =>
      db
        .updateTable("attempts")
        .set({ created_at: iso(Date.now() - 50 * day) })
        .where("job_id", "=", job.id)
        .execute(),
    );
    await make("used-by-it", 40);
    await make("older", 60);
    await sweep();
    assert.deepEqual(await left(), ["building", "used-by-it", "young"]);
    await client.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
  });

  it("that a killed server had moved aside are deleted by the next", async () => {
    await mkdir(join(envsDir, "gone.trash", "bin"), { recursive: true });
    await sweep();
    assert.ok(!(await left()).includes("gone.trash"));
  });
});

describe("a server's own sweep", () => {
  let dataDir: string;
  let server: RunningServer;
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "millrace-sweep-"));
  });
  after(async () => {
    await server.stop();
    await rm(dataDir, { recursive: true });
  });

  it("deletes old logs at its start", async () => {
    const settings = { PATH: process.env["PATH"], MILLRACE_DATA_DIR: dataDir, MILLRACE_PORT: "0" };
    const begin = () => startServer(readConfig({}, settings), log);
    server = await begin();
    const token = await createAdminToken(server.store, {}, Date.now());
    const { job } = await runJob(createClient({ url: server.url, token, team: "main" }), shell("echo x"));
    await server.store.write((db) =>
      db.updateTable("jobs").set({ finished_at: "2020-01-01T00:00:00.000Z" }).where("id", "=", job.id).execute(),
    );
    await server.stop();
    server = await begin();
    const folder = join(dataDir, "jobs", `${job.id}.1`);
    for (let tries = 0; (await exists(folder)) && tries < 500; tries++) await sleep(20);
    assert.equal(await exists(folder), false);
  });
});
