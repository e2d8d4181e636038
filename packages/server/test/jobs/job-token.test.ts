/** The token that every job has in its environment: its rights and its lifetime. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, createClient, type Job, routes, type WhoAmI } from "@millrace/contract";
import { createJob, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import { WebSocket } from "ws";
import { keyLocation } from "../../src/admin/keys/key-file.ts";
import { rotateKey } from "../../src/admin/keys/key-rotation.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { createSignInLink } from "../../src/domain/people/sessions.ts";
import { readFaults } from "../../src/machine/faults.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { revealed, revealing, runningJob } from "../support/job-tokens.ts";
import { addPerson, addTeam, Visitor } from "../support/people.ts";

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

  it("uses its creator's own credentials only if the job itself has them: a package in it may be a colleague's", async () => {
    const sets = { private: "own", mine: "own", shared: "team" };
    for (const [name, owner] of Object.entries(sets)) {
      const json = { team_name: "main", name, values: { [name.toUpperCase()]: "value-1" } };
      const response = await server.fetch(`/api/datachain/credentials/${owner}`, { json });
      assert.equal(response.status, 200, await response.text());
    }
    const { token, end } = await running(admin, { credentials_name: "mine" });
    const create = (names: string[]) =>
      server.fetch("/api/datachain/jobs/", { token, json: { ...shell(":"), credentials_names: names } });
    const refused = await create(["shared", "private"]);
    assert.equal(refused.status, 403);
    assert.match(await refused.text(), /may use your own credentials private only if the job itself has them/);
    for (const names of [["shared"], ["mine"], []]) assert.equal((await create(names)).status, 200, names.join());
    const browsed = { team_name: "main", uri: "s3://bucket/", credentials_name: "private" };
    assert.equal(await status("/api/datachain/storage/list", token, browsed), 403);
    await end();
  });

  it("brings no code into runs with other credentials of its creator", async () => {
    await makeDataset({ store: server.store, client: admin }, "private_rows", "exit 0", {
      input: { credentials_name: "private" },
    });
    const { pipeline } = await admin.call(routes.triggerPipeline, {
      body: { datasets: ["private_rows"], review: true },
    });
    const { token, end } = await running();
    const change = { team_name: "main", pipeline_name: pipeline.name, environment: "PYTHONSTARTUP=/tmp/x" };
    assert.equal(await status("/api/datachain/pipeline/settings", token, change), 403);
    assert.equal(await status("/api/datachain/pipeline/settings", await server.token(), change), 200);
    await end();
    await server.store.write((db) => db.deleteFrom("credentials").execute());
    await server.store.write((db) => db.updateTable("pipelines").set({ environment: "" }).execute());
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

  describe("of a job that was created with an access token", () => {
    const cannotStart =
      /created with the access token \d+, which (was revoked|has expired).*Use a valid token of a person/;
    const create = (token: string) => server.fetch("/api/datachain/jobs/", { token, json: shell(":") });
    const refusal = async (response: Response) => {
      assert.equal(response.status, 403);
      assert.match(await response.text(), cannotStart);
    };
    const accessToken = async () => {
      const scopes = ["JOB", "DATASETS", "PIPELINES"];
      const { id, access_token } = await admin.call(routes.createToken, { body: { name: "leak", scopes } });
      return { id, client: createClient({ url: server.url, token: access_token, team: "main" }) };
    };
    const revoke = (id: number) => admin.call(routes.revokeToken, { params: { token_id: String(id) } });
    const expire = (id: number) =>
      server.store.write((db) =>
        db.updateTable("tokens").set({ expires_at: "2020-01-01T00:00:00.000Z" }).where("id", "=", id).execute(),
      );
    const remove = (id: number) => server.store.write((db) => db.deleteFrom("tokens").where("id", "=", id).execute());
    async function firstChild(parent_job_id: string): Promise<Job> {
      for (const deadline = Date.now() + 60_000; Date.now() < deadline; ) {
        const [child] = await admin.call(routes.listJobs, { query: { parent_job_id } });
        if (child) return child;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error("the task creates nothing");
    }
    const clientOf = ({ token }: { readonly token: string }) => createClient({ url: server.url, token });
    const rememberedBy = async (id: string) =>
      (await server.store.db.selectFrom("jobs").select("token_id").where("id", "=", id).executeTakeFirst())?.token_id;

    for (const [end, how] of [
      [revoke, "was revoked"],
      [expire, "has expired"],
      [remove, "was removed from the database"],
    ] as const)
      it(`starts nothing new once that token ${how}, nor does the token of its successor; both still read`, async () => {
        await makeDataset({ store: server.store, client: admin }, `rows_${end.name}`, "exit 0");
        const datasets = [`rows_${end.name}`];
        const { pipeline } = await admin.call(routes.triggerPipeline, { body: { datasets, review: true } });
        const { id, client } = await accessToken();
        const first = await running(client);
        const successor = await running(clientOf(first));
        for (const { token } of [first, successor]) assert.equal((await create(token)).status, 200);
        await end(id);
        for (const { token } of [first, successor]) {
          await refusal(await create(token));
          await refusal(await server.fetch("/api/datachain/pipeline/trigger", { token, json: { datasets } }));
          for (const action of ["resume", "rerun", "retry-job", "settings"])
            await refusal(
              await server.fetch(`/api/datachain/pipeline/${action}`, {
                token,
                json: { name: pipeline.name, pipeline_name: pipeline.name, job_id: first.job.id },
              }),
            );
          for (const path of ["whoami", "datachain/jobs/", "datachain/datasets", "datachain/pipeline/list"])
            assert.equal(await status(`/api/${path}`, token), 200, path);
        }
        const cancel = `/api/datachain/jobs/${successor.job.id}/cancel`;
        assert.equal(await status(cancel, first.token, {}), 200, "and it may cancel");
        await waitForEnd(admin, successor.job.id);
        await first.end();
      });

    it("starts new jobs while that token is valid, or if there was none: a browser session", async () => {
      const { id, client } = await accessToken();
      const first = await running(client);
      const successor = await running(clientOf(first));
      assert.deepEqual([await rememberedBy(first.job.id), await rememberedBy(successor.job.id)], [id, id]);
      assert.equal((await create(successor.token)).status, 200);

      const browser = new Visitor(server.url);
      await browser.get(`/auth/sign-in?link=${await createSignInLink(server.store, "admin", Date.now())}`);
      const made = await server.fetch("/api/datachain/jobs/", {
        token: null,
        json: { ...shell(revealing), team_name: "main" },
        headers: { cookie: browser.cookie, origin: server.url },
      });
      const ofSession = await revealed((await made.json()) as Job, admin);
      assert.equal(await rememberedBy(ofSession.job.id), null);
      assert.equal((await create(ofSession.token)).status, 200);
      for (const one of [first, successor, ofSession]) await one.end();
    });

    it("counts for the runs of a pipeline: the last who started or changed them answers for what they do", async () => {
      await makeDataset({ store: server.store, client: admin }, "answered", "sleep 600");
      const { id, client } = await accessToken();
      const job = await running(client);
      const other = await accessToken();
      const trigger = async (by: Client) =>
        (await by.call(routes.triggerPipeline, { body: { datasets: ["answered"], review: true } })).pipeline;
      const runOf = async (name: string) => {
        const { job_runs } = await admin.call(routes.getPipeline, { query: { name } });
        return job_runs[0]?.created_job_id ?? "";
      };
      const ofJob = await trigger(clientOf(job));
      assert.equal(await rememberedBy(await runOf(ofJob.name)), id, "triggered with the job's own token");
      const { name } = await trigger(other.client);
      assert.equal(await rememberedBy(await runOf(name)), other.id, "triggered with an access token");
      const change = { team_name: "main", pipeline_name: name };
      await clientOf(job).call(routes.updatePipelineSettings, { body: { ...change, priority: 3 } });
      assert.equal(await rememberedBy(await runOf(name)), other.id, "a priority brings no code");
      await clientOf(job).call(routes.updatePipelineSettings, { body: { ...change, environment: "A=1" } });
      assert.equal(await rememberedBy(await runOf(name)), id, "a variable does");
      await other.client.call(routes.resumePipeline, { body: { name } });
      assert.equal(await rememberedBy(await runOf(name)), other.id, "resumed");
      await admin.call(routes.cancelPipeline, { body: { name } });
      await waitForEnd(admin, await runOf(name));
      await clientOf(job).call(routes.rerunPipeline, { body: { name } });
      assert.equal(await rememberedBy(await runOf(name)), id, "run again");
      await admin.call(routes.cancelPipeline, { body: { name } });
      await waitForEnd(admin, await runOf(name));
      await job.end();
    });

    it("does not count for the jobs of a task, which people see and remove: they start new ones", async () => {
      const { id, client } = await accessToken();
      const task = await createJob(client, shell(revealing, { start_after: "2020-01-01T00:00:00Z" }));
      await revoke(id);
      const fired = await revealed(await firstChild(task.id), admin);
      assert.equal(await rememberedBy(fired.job.id), null);
      assert.equal((await create(fired.token)).status, 200);
      await fired.end();
    });
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
