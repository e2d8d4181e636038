/** Why a job waits: the answer names the place in the queue, the holders of the slots, and every other reason. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type ApiError, type Client, type JobWait, routes } from "@millrace/contract";
import { createJob, runJob, shell, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addTeam } from "../support/teams.ts";
import { until } from "../support/until.ts";

describe("why a job waits", () => {
  let server: InProcessServer;
  let client: Client;
  let gates: string;
  before(async () => {
    gates = await mkdtemp(join(tmpdir(), "millrace-gates-"));
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
  });
  after(async () => {
    await server.dispose();
    await rm(gates, { recursive: true });
  });

  const gated = (gate: string, workers = 1) =>
    shell(`while [ ! -e ${join(gates, gate)} ]; do sleep 0.05; done`, { query_name: gate, workers });
  const open = (gate: string) => writeFile(join(gates, gate), "");
  const waitOf = (id: string, who = client): Promise<JobWait> =>
    who.call(routes.getJobWait, { params: { job_id: id }, query: {} });
  const kinds = ({ reasons }: JobWait) => reasons.map(({ kind }) => kind);

  it("a job that has ended does not wait", async () => {
    const { job } = await runJob(client, shell(":"));
    const wait = await waitOf(job.id);
    assert.deepEqual([wait.status, wait.reasons, wait.position], ["COMPLETE", [], null]);
  });

  it("for slots: the holders of the team by name, other teams only by number, and the jobs ahead", async () => {
    const other = await addTeam(server, "others");
    const holder = await createJob(client, gated("mine"));
    await waitForStatus(client, holder.id, ["RUNNING"]);
    const secret = await createJob(other, gated("theirs"));
    await waitForStatus(other, secret.id, ["RUNNING"]);
    const first = await createJob(client, shell(":"));
    const second = await createJob(client, shell(":"));
    const wait = await waitOf(second.id);
    assert.deepEqual(kinds(wait), ["slots", "order"]);
    assert.equal(wait.position, 2);
    assert.deepEqual([wait.slots_needed, wait.slots_busy, wait.slots_total, wait.slots_of_others], [1, 2, 2, 1]);
    assert.deepEqual(
      wait.holders.map(({ job_id, name, slots }) => [job_id, name, slots]),
      [[holder.id, "mine", 1]],
    );
    assert.match(wait.reasons[0]?.message ?? "", /needs 1 slot, and all 2 slots of the cluster local are in use/);
    assert.equal(wait.reasons[1]?.message, "1 job is ahead of it in the queue.");
    assert.doesNotMatch(JSON.stringify(wait), /theirs/);
    assert.equal((await waitOf(first.id)).position, 1);
    await assert.rejects(waitOf(secret.id), (error: ApiError) => error.code === "not_found");
    await open("mine");
    await open("theirs");
    await waitForStatus(client, second.id, ["COMPLETE"]);
  });

  it("for the quota of the team", async () => {
    const team = await addTeam(server, "narrow", { max_running: 1 });
    const blocker = await createJob(team, gated("narrow"));
    await waitForStatus(team, blocker.id, ["RUNNING"]);
    const { id } = await createJob(team, shell(":"));
    const wait = await waitOf(id, team);
    assert.deepEqual(kinds(wait), ["quota"]);
    assert.match(wait.reasons[0]?.message ?? "", /The team runs 1 job, as many as its quota allows \(max_running\)/);
    await open("narrow");
    await waitForStatus(team, id, ["COMPLETE"]);
  });

  it("for a retry: until when", async () => {
    const { id } = await createJob(client, shell("exit 1", { retries: 1, retry_delay: 600 }));
    await until(async () => (await waitOf(id)).until !== null);
    const wait = await waitOf(id);
    assert.deepEqual([wait.status, kinds(wait), wait.position], ["QUEUED", ["retry"], null]);
    assert.ok(Date.parse(wait.until ?? "") > Date.now());
    await client.call(routes.cancelJob, { params: { job_id: id }, body: {} });
  });

  it("a task waits for its next run", async () => {
    const { id, next_run } = await createJob(client, shell(":", { cron_expression: "@yearly" }));
    const wait = await waitOf(id);
    assert.deepEqual([kinds(wait), wait.until], [["time"], next_run]);
  });
});
