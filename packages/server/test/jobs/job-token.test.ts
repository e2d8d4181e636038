/** The token that every job has in its environment: its rights and its lifetime. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, routes, type WhoAmI } from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import { WebSocket } from "ws";
import { keyLocation } from "../../src/admin/keys/key-file.ts";
import { rotateKey } from "../../src/admin/keys/key-rotation.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { readFaults } from "../../src/machine/faults.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { runningJob } from "../support/job-tokens.ts";
import { addPerson, addTeam } from "../support/people.ts";

describe("a job's token", () => {
  let server: InProcessServer;
  let admin: Client;
  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "8" });
    admin = await server.client();
    await addTeam(server, "other");
  });
  after(() => server.dispose());

  const running = (client = admin, rest: object = {}) => runningJob(client, rest, admin);
  const status = async (path: string, token: string, json?: unknown) =>
    (await server.fetch(path, { token, ...(json === undefined ? {} : { json }) })).status;

  it("lets a script use the API as its creator, with curl or with the client's own settings", async () => {
    const script = `
curl -sf -H "Authorization: Bearer $MILLRACE_TOKEN" "$MILLRACE_URL/api/whoami" || exit 3
[ "$DATACHAIN_STUDIO_URL $DATACHAIN_STUDIO_TOKEN $DATACHAIN_STUDIO_TEAM" = "$MILLRACE_URL $MILLRACE_TOKEN main" ] || exit 4`;
    const { job, log } = await runJob(admin, shell(script));
    assert.equal(job.status, "COMPLETE", log);
    const who = JSON.parse(log) as WhoAmI;
    assert.deepEqual([who.username, who.token_name], ["admin", `job ${job.id}`]);
    assert.deepEqual(who.teams, [{ name: "main", role: "admin" }]);
    assert.ok(who.scopes.includes("JOB:write") && !who.scopes.some((scope) => scope.startsWith("ADMIN")));
  });

  it("is not set beside variables of another server, and no job can replace it", async () => {
    const elsewhere = "DATACHAIN_STUDIO_URL=https://elsewhere.example\nMILLRACE_TOKEN=fake-token-1";
    const { log } = await runJob(
      admin,
      shell('echo "$DATACHAIN_STUDIO_URL|$DATACHAIN_STUDIO_TOKEN|$MILLRACE_TOKEN"', { environment: elsewhere }),
    );
    assert.match(log, /^https:\/\/elsewhere\.example\|\|\*{90,}\n$/);
  });

  it("is valid while its attempt runs, and no longer", async () => {
    const { job, token, end } = await running();
    assert.equal(await status("/api/whoami", token), 200);
    assert.equal(await status("/api/datachain/jobs/?team_name=main", token), 200);
    const child = createClient({ url: server.url, token });
    assert.equal((await runJob(child, shell(":"))).job.created_by, "admin");
    await end();
    assert.equal(await status("/api/whoami", token), 401);
    assert.equal(await status("/api/whoami", token.replace(job.id, job.id.replace(/.$/, "0"))), 401);
  });

  it("is limited to the job's team, whatever teams its creator has", async () => {
    const { token, end } = await running();
    assert.equal(await status("/api/datachain/jobs/?team_name=other", token), 403);
    assert.equal(await status("/api/datachain/jobs/", token), 200, "and needs no name for it");
    await end();
  });

  it("opens the log socket of its team", async () => {
    const { job, token, end } = await running();
    const socket = new WebSocket(`${server.url.replace("http", "ws")}/api/logs/follow/?job_id=${job.id}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    await new Promise((resolve, reject) => socket.on("message", resolve).on("error", reject));
    socket.close();
    await end();
  });

  it("can neither approve nor deny a login, nor sign out, nor change credentials", async () => {
    const { token, end } = await running();
    const login = (await (await server.fetch("/api/device-login", { json: {}, token: null })).json()) as {
      user_code: string;
    };
    for (const what of ["approve", "deny"]) {
      const response = await server.fetch(`/api/device-login/${what}`, { token, json: { user_code: login.user_code } });
      assert.equal(response.status, 403);
      assert.match(await response.text(), /A job's own token may not do this/);
    }
    assert.equal(await status("/api/device-logout", token, {}), 403);
    assert.equal(await status("/api/datachain/credentials/own", token, { name: "x", values: { A: "1" } }), 403);
    assert.equal(await status("/api/datachain/credentials/team", token, { name: "x", values: { A: "1" } }), 403);
    assert.equal(await status("/api/whoami", token), 200, "it is still good");
    await end();
  });

  it("cannot create anything that starts after the job has ended: no task, no schedule, no settings of one", async () => {
    const { token, end } = await running();
    const count = async () => (await server.store.db.selectFrom("tasks").select("job_id").execute()).length;
    for (const times of [
      { cron_expression: "* * * * *" },
      { start_after: "2099-01-01T00:00:00Z" },
      { start_after: "2020-01-01" },
    ]) {
      const json = { query: ":", query_type: "SHELL", ...times };
      const response = await server.fetch("/api/datachain/jobs/", { token, json });
      assert.equal(response.status, 403);
      assert.match(
        await response.text(),
        /may not create a job that begins later or repeats.*Use the token of a person/,
      );
    }
    assert.equal(await count(), 0);
    assert.equal(
      await status("/api/datachain/jobs/", token, {
        query: ":",
        query_type: "SHELL",
        cron_expression: "",
        start_after: null,
      }),
      200,
    );

    await makeDataset({ store: server.store, client: admin }, "scheduled", "exit 0");
    const { pipeline } = await admin.call(routes.triggerPipeline, { body: { datasets: ["scheduled"], review: true } });
    const made = { schedule_name: "yearly", pipeline_name: pipeline.name, cron_expression: "@yearly" };
    assert.equal(await status("/api/datachain/pipeline/create-schedule", token, made), 403);
    const { schedule } = await admin.call(routes.createSchedule, { body: made });
    const settings = { pipeline_name: schedule.pipeline.name, environment: "A=1" };
    assert.equal(await status("/api/datachain/pipeline/settings", token, settings), 403);
    const own = { ...settings, pipeline_name: pipeline.name };
    assert.equal(
      await status("/api/datachain/pipeline/settings", token, own),
      200,
      "of a pipeline that runs once it may",
    );
    await end();
  });

  it("has no more scopes than the token that created the job", async () => {
    const { token, end } = await running(await server.client({ scopes: ["JOB"] }));
    assert.equal(await status("/api/datachain/jobs/", token), 200);
    assert.equal(await status("/api/datachain/clusters/", token), 403);
    await end();
  });

  it("loses rights with its creator: a lower role, a left team, a disabled user", async () => {
    const { token, end } = await running((await addPerson(server, "ann", { team: "main" })).client);
    const create = () => status("/api/datachain/jobs/", token, { query: ":", query_type: "SHELL" });
    const ann = server.store.db.selectFrom("users").select("id").where("username", "=", "ann");
    assert.equal(await create(), 200);
    await server.store.write((db) =>
      db.updateTable("memberships").set({ role: "viewer" }).where("user_id", "=", ann).execute(),
    );
    assert.deepEqual([await create(), await status("/api/datachain/jobs/", token)], [403, 200]);
    await server.store.write((db) => db.deleteFrom("memberships").where("user_id", "=", ann).execute());
    assert.equal(await status("/api/datachain/jobs/", token), 403);
    await server.store.write((db) =>
      db.updateTable("users").set({ disabled_at: "2026" }).where("username", "=", "ann").execute(),
    );
    assert.equal(await status("/api/whoami", token), 401);
    await end();
  });

  it("stays valid during a key rotation while the job runs; new jobs get a token of the new key", async () => {
    const before = await running();
    const location = keyLocation(readConfig({}, { MILLRACE_DATA_DIR: server.dataDir }));
    const rotation = await rotateKey(location, server.store, readFaults(""));
    assert.deepEqual([rotation.finished, rotation.waitsForJobs], [false, 1]);
    assert.equal(await status("/api/whoami", before.token), 200);
    const after = await running();
    assert.equal(await status("/api/whoami", after.token), 200);
    await before.end();
    await after.end();
    assert.equal((await rotateKey(location, server.store, readFaults(""))).finished, true);
  });

  it("is masked in the job's log, under every key of the ring", async () => {
    const { log } = await runJob(admin, shell('echo "a$MILLRACE_TOKEN"; echo "$DATACHAIN_STUDIO_TOKEN"'));
    assert.match(log, /^a\*{90,}\n\*{90,}\n$/);
  });
});
