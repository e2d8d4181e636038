/**
 * Clusters that administrators manage. The engine places runners beside the server (runners/process-placer.ts says
 * what is fake); everything else is real.
 */
import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type AuditEntry, type Client, type RunnerOptions, routes } from "@millrace/contract";
import {
  createJob,
  readJob,
  readLog,
  runJob,
  shell,
  waitForEnd,
  waitForStatus,
} from "@millrace/testing/millrace/jobs.ts";
import { until } from "@millrace/testing/until.ts";
import { termsOf } from "../../src/app/engine-kinds.ts";
import { endForeignAttempts } from "../../src/domain/lifecycle/lost-attempts.ts";
import { readAttempts } from "../../src/domain/lifecycle/retries.ts";
import { EngineUnreachable } from "../../src/engines/engine.ts";
import type { OpenEngine } from "../../src/engines/registry.ts";
import type { Placed } from "../../src/engines/runners/placer.ts";
import { RunnerEngine } from "../../src/engines/runners/runner-engine.ts";
import { allClusters, updateCluster } from "../../src/store/queries/jobs/clusters.ts";
import { ProcessPlacer } from "../engine/runners/process-placer.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, addTeam } from "../support/people.ts";

/** A cluster that can be away, or have no room. */
class MoodyPlacer extends ProcessPlacer {
  static isAway = false;
  static reason = "";

  /** While it hangs, the list comes only when the engine is closed. */
  static hangs = false;
  #leave = () => {};
  readonly #closed = new Promise<void>((resolve) => {
    this.#leave = resolve;
  });

  override close = async () => this.#leave();

  override async list(): Promise<Map<string, Placed>> {
    if (MoodyPlacer.hangs) await this.#closed;
    if (MoodyPlacer.isAway) throw new EngineUnreachable("The controller does not answer.");
    const listed = await super.list();
    const { reason } = MoodyPlacer;
    return reason === "" ? listed : new Map([...listed].map(([key]) => [key, { isRunning: false, reason }]));
  }
}

describe("a managed cluster", () => {
  let server: InProcessServer;
  let client: Client;
  let other: Client;
  const folder = ProcessPlacer.folder();
  const opened: object[] = [];
  /** What the engine's checks of limits wait for. */
  let checks: Promise<void> | undefined;
  const slurm: OpenEngine = async ({ options, secrets, ...surroundings }) => {
    opened.push(options);
    assert.deepEqual(secrets, {});
    const delay = Number((options as { account: string }).account || 0);
    const placer = new MoodyPlacer(folder, delay);
    const terms = termsOf(options as RunnerOptions, surroundings.limits);
    const engine = await RunnerEngine.open({ ...surroundings, ...terms, isolation: "none", placer, silenceMs: 200 });
    const { watch } = engine;
    return Object.assign(engine, { watch: (key: string) => checks ?? watch.call(engine, key) });
  };

  before(async () => {
    server = await startInProcess({}, undefined, { engines: { slurm } });
    client = await server.client();
    await addTeam(server, "others");
    other = (await addPerson(server, "olga", { team: "others", role: "editor" })).client;
    await add("hpc");
  });
  after(async () => {
    await server.dispose();
    new ProcessPlacer(folder).end();
  });

  const add = (name: string, rest: object = {}) =>
    client.call(routes.createCluster, {
      body: { name, engine: "slurm", max_workers: 4, teams: ["main"], slurm: { partition: "gpu" }, ...rest },
    });
  const set = (name: string, body: object) =>
    client.call(routes.updateCluster, { params: { cluster_name: name }, body });
  const on = (name: string, query: string) => shell(query, { compute_cluster_name: name });
  const seenBy = async (who: Client) => (await who.call(routes.listClusters, { query: {} })).map(({ name }) => name);

  it("runs jobs, with the options that were given and the defaults of the others", async () => {
    const { job, log } = await runJob(client, on("hpc", "echo hello from $MILLRACE_JOB_ID; exit 3"));
    assert.deepEqual([job.status, job.exit_code, job.compute_cluster_name], ["FAILED", 3, "hpc"]);
    assert.equal(log, `hello from ${job.id}\n`);
    const shown = await client.call(routes.getManagedCluster, { params: { cluster_name: "hpc" } });
    assert.deepEqual(
      [shown.engine, shown.status, shown.status_reason, shown.isolation, shown.teams, shown.options["partition"]],
      ["slurm", "ACTIVE", null, "none", ["main"], "gpu"],
    );
    assert.equal(shown.options["python"], "python3");
  });

  it("serves only the teams that it is for", async () => {
    assert.deepEqual([await seenBy(client), await seenBy(other)], [["local", "hpc"], ["local"]]);
    await assert.rejects(createJob(other, on("hpc", "true")), /compute_cluster_name: expected one of local \(1\)/);
    assert.equal((await runJob(other, shell("true"))).job.compute_cluster_name, "local");
  });

  it("serves one team if its engine does not isolate jobs, unless an administrator accepts that", async () => {
    await assert.rejects(set("hpc", { teams: [] }), /teams: expected one team, because slurm does not isolate/);
    await assert.rejects(set("hpc", { teams: ["main", "others"] }), /does not isolate/);
    assert.deepEqual(await seenBy(other), ["local"], "nothing was changed");
    await set("hpc", { teams: ["main", "others"], shares_unisolated: true });
    assert.deepEqual(await seenBy(other), ["local", "hpc"]);
    await set("hpc", { teams: ["main"], shares_unisolated: false });
  });

  it("is given to another team only when no job of the first runs there, and jobs that wait do not start", async () => {
    await add("moved");
    const running = await createJob(client, on("moved", "sleep 1000"));
    await waitForStatus(client, running.id, ["RUNNING"]);
    await assert.rejects(set("moved", { teams: ["others"] }), /Jobs of other teams still run .*moved \(main\)/);
    await set("moved", { state: "PAUSED" });
    const waiting = await createJob(client, on("moved", "echo ran"));
    await client.call(routes.cancelJob, { params: { job_id: running.id }, body: {} });
    await waitForEnd(client, running.id);
    await set("moved", { teams: ["others"] });
    await set("moved", { state: "ACTIVE" });
    const { status, error_message } = await waitForEnd(client, waiting.id);
    assert.equal(status, "FAILED");
    assert.match(error_message ?? "", /may no longer use the cluster moved/);
    assert.equal((await runJob(other, on("moved", "true"))).job.status, "COMPLETE");
    await client.call(routes.deleteCluster, { params: { cluster_name: "moved" }, query: {} });
  });

  it("has no password in the address of its head, which everybody sees in errors", async () => {
    const ray = { address: "http://ops:secret@127.0.0.1:1" };
    await assert.rejects(
      client.call(routes.createCluster, { body: { name: "head", engine: "ray", max_workers: 1, ray } }),
      /address/,
    );
  });

  it("is the default of the teams that it is set for", async () => {
    await set("hpc", { default_of: ["main"] });
    assert.equal((await runJob(client, shell("true"))).job.compute_cluster_name, "hpc");
    assert.equal((await runJob(other, shell("true"))).job.compute_cluster_name, "local");
    await set("hpc", { default_of: [] });
    assert.equal((await runJob(client, shell("true"))).job.compute_cluster_name, "local");
  });

  it("refuses jobs that use datasets, and says why", async () => {
    const body = { query: "import datachain", query_type: "PYTHON" as const, compute_cluster_name: "hpc" };
    await assert.rejects(createJob(client, body), /compute_cluster_name: expected local, because .*datasets.*"hpc"/);
  });

  it("starts no jobs while it is paused, says why, and starts them afterwards", async () => {
    await set("hpc", { state: "PAUSED" });
    const { id } = await createJob(client, on("hpc", "true"));
    const wait = await client.call(routes.getJobWait, { params: { job_id: id }, query: {} });
    assert.match(wait.reasons[0]?.message ?? "", /The cluster hpc starts no jobs. An administrator has paused it/);
    await set("hpc", { state: "ACTIVE" });
    assert.equal((await waitForEnd(client, id)).status, "COMPLETE");
  });

  it("accepts no jobs while it drains, and running jobs go on", async () => {
    const running = await createJob(client, on("hpc", "sleep 2"));
    await waitForStatus(client, running.id, ["RUNNING"]);
    await set("hpc", { state: "DRAINING" });
    await assert.rejects(createJob(client, on("hpc", "true")), /an administrator is draining hpc/);
    assert.equal((await waitForEnd(client, running.id)).status, "COMPLETE");
    await set("hpc", { state: "ACTIVE" });
  });

  it("shows a job that the cluster has no room for as PROVISIONING, until it starts", async () => {
    await set("hpc", { slurm: { account: "4" } });
    MoodyPlacer.reason = "Slurm: Resources";
    const { id } = await createJob(client, on("hpc", "echo ran"));
    await waitForStatus(client, id, ["PROVISIONING"]);
    while ((await readLog(client, id)) === "") await new Promise((resolve) => setTimeout(resolve, 20));
    MoodyPlacer.reason = "";
    assert.equal((await waitForEnd(client, id)).status, "COMPLETE");
    assert.equal(await readLog(client, id), "[millrace] The job waits on its cluster. Slurm: Resources\nran\n");
    await set("hpc", { slurm: { account: "" } });
  });

  it("fails a job that has not started in time, with the reason of the cluster, and starts nothing later", async () => {
    await set("hpc", { slurm: { account: "1000", start_seconds: 1 } });
    MoodyPlacer.reason = "Slurm: Resources";
    const waiting = await createJob(client, on("hpc", "echo ran"));
    const ended = await waitForEnd(client, waiting.id);
    MoodyPlacer.reason = "";
    const late = "The job was ended because it did not start on its cluster within 1 second";
    const why = `${late} (option start_seconds of its cluster).`;
    assert.deepEqual([ended.status, ended.error_message], ["FAILED", `${why} Slurm: Resources`]);
    const deaf = await waitForEnd(client, (await createJob(client, on("hpc", "echo ran"))).id);
    assert.equal(deaf.error_message, `${why} Its runner was started there, and has not reached this server.`);
    const left = () => readdirSync(folder).filter((name) => name.startsWith(waiting.id) || name.startsWith(deaf.id));
    await until("the cluster has no runner of these jobs", async () => {
      await new MoodyPlacer(folder).list();
      return left().length === 0;
    });
    await set("hpc", { slurm: { account: "", start_seconds: 0 } });
  });

  it("ends a job that exceeds a limit among its options, and says which option", async () => {
    await set("hpc", { slurm: { job_seconds: 1 } });
    const { job } = await runJob(client, on("hpc", "sleep 100"));
    assert.match(job.error_message ?? "", /limit of 1 seconds \(option job_seconds of its cluster\)/);
    await set("hpc", { slurm: { job_seconds: 0 } });
  });

  it("has the defaults of options that are newer than the cluster", async () => {
    await add("old");
    const row = (await allClusters(server.store.db)).find(({ name }) => name === "old");
    await server.store.write((db) => updateCluster(db, row?.id ?? 0, { options: '{"partition":"gpu"}' }));
    const { options } = await set("old", { slurm: { account: "" } });
    assert.deepEqual([options["partition"], options["start_seconds"], options["lease_seconds"]], ["gpu", 0, 900]);
    assert.deepEqual(opened.at(-1), options, "the engine gets the same");
    await client.call(routes.deleteCluster, { params: { cluster_name: "old" }, query: {} });
  });

  it("serves one team if its jobs share a folder of virtualenvs, although pods are isolated", async () => {
    const pods = { engine: "kubernetes", slurm: undefined, teams: [] };
    await assert.rejects(
      add("pods", { ...pods, kubernetes: { environments: "/venvs" } }),
      /teams: expected one team, because its jobs share the folder of kept virtualenvs/,
    );
    await add("pods", pods);
    await assert.rejects(set("pods", { kubernetes: { environments: "/venvs" } }), /share the folder/);
    await set("pods", { kubernetes: { environments: "/venvs" }, teams: ["main"] });
    await client.call(routes.deleteCluster, { params: { cluster_name: "pods" }, query: {} });
  });

  it("gives its engine every option of runners; its limits replace the server's", () => {
    const limits = { seconds: 0, memory: "80%", disk: 2, log: 3, processes: 9, openFiles: 4 } as const;
    const usual = {
      ...{ job_seconds: 0, job_memory: 0, start_seconds: 5, lease_seconds: 60 },
      ...{ environments: "", environments_days: 30, environments_size: 2, environments_packed: false },
    };
    assert.deepEqual(termsOf(usual, limits), { startSeconds: 5, leaseSeconds: 60, limits, limitSettings: {} });
    const own = termsOf({ ...usual, job_seconds: 7, job_memory: 0.5, environments: "/shared/venvs" }, limits);
    assert.deepEqual(own.environments, { folder: "/shared/venvs", days: 30, bytes: 2 * 1024 ** 3 });
    assert.equal(termsOf({ ...usual, environments_packed: true }, limits).packs, true);
    assert.deepEqual(own.limits, { ...limits, seconds: 7, memory: 1024 ** 3 / 2 });
    assert.deepEqual(own.limitSettings?.memory, "option job_memory of its cluster");
  });

  it("is shown as unreachable with the reason, and no job is lost meanwhile", async () => {
    MoodyPlacer.isAway = true;
    const { id } = await createJob(client, on("hpc", "echo ran"));
    const status = async () =>
      (await client.call(routes.getManagedCluster, { params: { cluster_name: "hpc" } })).status;
    while ((await status()) !== "UNREACHABLE") await new Promise((resolve) => setTimeout(resolve, 20));
    const { status_reason } = await client.call(routes.getManagedCluster, { params: { cluster_name: "hpc" } });
    assert.match(status_reason ?? "", /The controller does not answer/);
    assert.equal((await runJob(client, shell("echo here"))).job.status, "COMPLETE", "other clusters go on");
    MoodyPlacer.isAway = false;
    assert.equal((await waitForEnd(client, id)).status, "COMPLETE");
    assert.equal(await readLog(client, id), "ran\n");
  });

  it("that is unreachable ends the jobs whose runners say so, and cancels those that run or have not started", async () => {
    const waits = `until [ -e ${folder}/runners/go ]; do sleep 0.05; done; exit 4`;
    const [ending, running] = [
      await createJob(client, on("hpc", waits)),
      await createJob(client, on("hpc", "sleep 600")),
    ];
    for (const { id } of [ending, running]) await waitForStatus(client, id, ["RUNNING"]);
    await set("hpc", { slurm: { account: "60" } });
    const waiting = await createJob(client, on("hpc", "echo never"));
    await waitForStatus(client, waiting.id, ["PROVISIONING"]);
    MoodyPlacer.isAway = true;
    writeFileSync(`${folder}/runners/go`, "");
    assert.equal((await waitForEnd(client, ending.id)).exit_code, 4);
    for (const { id } of [running, waiting]) {
      await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      assert.equal((await waitForEnd(client, id)).status, "CANCELED");
    }
    MoodyPlacer.isAway = false;
    await set("hpc", { slurm: { account: "" } });
  });

  it("that is gone for good is removed with its jobs", async () => {
    await add("gone", { slurm: { account: "60" } });
    const [canceled, lost] = [await createJob(client, on("gone", "true")), await createJob(client, on("gone", "true"))];
    for (const { id } of [canceled, lost]) await waitForStatus(client, id, ["PROVISIONING"]);
    const params = { cluster_name: "gone" };
    await assert.rejects(client.call(routes.deleteCluster, { params, query: {} }), /in use.*remove it with force/);
    await client.call(routes.deleteCluster, { params, query: { force: true } });
    const { status, error_message } = await waitForEnd(client, lost.id);
    assert.deepEqual([status, error_message], ["FAILED", "The job was lost: its cluster was removed (gone)."]);
    assert.equal((await waitForEnd(client, canceled.id)).status, "FAILED");
    // Nothing is left of what the runners would have been given: it has the variables in clear text.
    const kept = ({ id }: { id: string }) => readdirSync(join(server.dataDir, "jobs", `${id}.1`)).includes("job");
    await until("both are cleaned", () => ![canceled, lost].some(kept));
  });

  it("begins the next attempt of a job after a lease, if the server's data folder was lost: the job may still run", async () => {
    const retried = (query: string, cluster: string) =>
      createJob(client, shell(query, { compute_cluster_name: cluster, retries: 1, retry_delay: 1 }));
    const [there, here] = [await retried("sleep 1000", "hpc"), await retried("sleep 1000", "local")];
    for (const { id } of [there, here]) await waitForStatus(client, id, ["RUNNING"]);
    const now = Date.now();
    await endForeignAttempts(server.store, "another data folder", now);
    const wait = async (id: string) =>
      Date.parse((await readAttempts(server.store.db, id))?.next_attempt_at ?? "") - now;
    assert.deepEqual([await wait(there.id), await wait(here.id)], [900_000, 900_000]);
    for (const { id } of [there, here]) {
      await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
      assert.equal((await waitForEnd(client, id)).status, "CANCELED");
    }
  });

  it("begins no other attempt because of retries that the team was given meanwhile: the runner has no lease", async () => {
    const { id } = await createJob(client, on("hpc", "sleep 1000"));
    await waitForStatus(client, id, ["RUNNING"]);
    const params = { team_name: "main" };
    await client.call(routes.updateTeam, { params, body: { job_retries: 1 } });
    await endForeignAttempts(server.store, "another data folder", Date.now());
    const { status, error_message, retried } = await waitForEnd(client, id);
    assert.deepEqual([status, retried], ["FAILED", 0]);
    assert.match(error_message ?? "", /a server with another data folder ran it.* run it again/);
    await client.call(routes.updateTeam, { params, body: { job_retries: 0 } });
  });

  it("that never answers holds up no change, neither its own nor that of another cluster", async () => {
    MoodyPlacer.hangs = true;
    // The loops of the newly opened engine wait for its list.
    await set("hpc", { slurm: { account: "1" } });
    await set("hpc", { slurm: { account: "" } });
    await add("beside");
    await client.call(routes.deleteCluster, { query: {}, params: { cluster_name: "beside" } });
    MoodyPlacer.hangs = false;
    await set("hpc", { slurm: { account: "0" } });
    assert.equal((await runJob(client, on("hpc", "true"))).job.status, "COMPLETE");
  });

  it("on which the check of limits hangs does not stop that of the others", async () => {
    let goOn = () => {};
    checks = new Promise((resolve) => {
      goOn = resolve;
    });
    const { id } = await createJob(client, on("hpc", "sleep 1000"));
    await waitForStatus(client, id, ["RUNNING"]);
    const { job } = await runJob(client, shell("sleep 1000", { timeout: 1 }));
    assert.equal(job.status, "FAILED");
    assert.match(job.error_message ?? "", /longer than its limit/);
    checks = undefined;
    goOn();
    await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    assert.equal((await waitForEnd(client, id)).status, "CANCELED");
  });

  it("is tested with a job that does nothing, step by step", async () => {
    const test = (seconds = 20) =>
      client.call(routes.testCluster, { params: { cluster_name: "hpc" }, body: { seconds } });
    const good = await test();
    assert.deepEqual(
      good.steps.map(({ name, ok }) => [name, ok]),
      [
        ["Reach the cluster", true],
        ["Submit a job", true],
        ["Start the job", true],
        ["Run the job", true],
      ],
    );
    MoodyPlacer.reason = "Slurm: the partition is down";
    await set("hpc", { slurm: { account: "5" } });
    const bad = await test(1);
    MoodyPlacer.reason = "";
    assert.deepEqual([bad.ok, bad.steps.at(-1)?.ok], [false, false]);
    assert.match(bad.steps.at(-1)?.message ?? "", /still waits\. Slurm: the partition is down/);
    await set("hpc", { slurm: { account: "" } });
    MoodyPlacer.isAway = true;
    const away = await test();
    MoodyPlacer.isAway = false;
    assert.deepEqual([away.ok, away.steps.length], [false, 1]);
    assert.match(away.steps[0]?.message ?? "", /does not answer/);
  });

  it("refuses what its engine does not know, in words", async () => {
    await assert.rejects(add("Upper"), /name/);
    await assert.rejects(add("hpc"), /There is already a cluster hpc/);
    await assert.rejects(add("bad", { secrets: { token: "x" } }), /secrets: expected none for the engine slurm/);
    await assert.rejects(add("bad", { slurm: { partitions: "x" } }), /slurm/);
    await assert.rejects(add("bad", { teams: ["nobody"] }), /teams: expected names of teams/);
    await assert.rejects(set("local", { max_workers: 3 }), /MILLRACE_MAX_WORKERS/);
    await assert.rejects(set("nowhere", {}), /There is no cluster nowhere/);
    assert.deepEqual(await seenBy(client), ["local", "hpc"], "nothing was added");
  });

  it("is removed only when no job needs it; logs stay, and its name is free again", async () => {
    await add("short");
    const { job } = await runJob(client, on("short", "echo kept"));
    await set("short", { state: "PAUSED" });
    const waiting = await createJob(client, on("short", "true"));
    const remove = () => client.call(routes.deleteCluster, { query: {}, params: { cluster_name: "short" } });
    await assert.rejects(remove(), /in use\. Slots that jobs occupy: 0; jobs that wait: 1\./);
    await client.call(routes.cancelJob, { params: { job_id: waiting.id }, body: {} });
    await waitForEnd(client, waiting.id);
    await remove();
    assert.deepEqual(await seenBy(client), ["local", "hpc"]);
    assert.equal(await readLog(client, job.id), "kept\n");
    await add("short");
    assert.equal((await runJob(client, on("short", "echo again"))).log, "again\n");
    await client.call(routes.deleteCluster, { query: {}, params: { cluster_name: "short" } });
  });

  it("fails jobs that come to wait for it after it was removed", async () => {
    await add("gone", { max_workers: 1 });
    const { id } = await createJob(client, {
      ...on("gone", "true"),
      start_after: new Date(Date.now() + 1500).toISOString(),
    });
    await client.call(routes.deleteCluster, { query: {}, params: { cluster_name: "gone" } });
    const task = await readJob(client, id);
    assert.equal(task.status, "TASK");
    const made = async () =>
      (await client.call(routes.listJobs, { query: { limit: 5 } })).find((job) => job.parent_job_id === id);
    let job = await made();
    while (job === undefined) job = await made();
    const { status, error_message } = await waitForEnd(client, job.id);
    assert.equal(status, "FAILED");
    assert.match(error_message ?? "", /The cluster of the job no longer exists \(gone/);
  });

  it("is in the audit log with every change", async () => {
    const rows = (await (await server.fetch(`${routes.listAudit.path}?limit=200`)).json()) as AuditEntry[];
    const actions = new Set(rows.filter(({ target }) => target === "short").map(({ action }) => action));
    assert.deepEqual([...actions].sort(), ["cluster.create", "cluster.remove", "cluster.update"]);
  });
});
