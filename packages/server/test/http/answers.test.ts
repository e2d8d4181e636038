/** The server's answers match the contract field by field, checked with the schemas themselves. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type Route, routes } from "@millrace/contract";
import { createJob, python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import { Check, Errors } from "typebox/schema";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { waitForPipelineEnd } from "../support/pipelines.ts";

it("no browser takes an answer for something else than its type says", async () => {
  const server = await startInProcess();
  for (const path of ["/healthz", "/api/datachain/jobs/", "/api/nothing", "/auth/sign-in", "/assets/nothing.js"]) {
    const { headers } = await server.fetch(path);
    assert.equal(headers.get("x-content-type-options"), "nosniff", path);
  }
  await server.dispose();
});

describe("answers match their schemas", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());

  function fits(route: Route, answer: unknown): void {
    const problems = Check(route.response, answer) ? [] : Errors(route.response, answer);
    assert.deepEqual(problems, [], JSON.stringify(answer));
  }

  it("for jobs in every kind of state, with and without steps", async () => {
    const job = await createJob(client, shell(":", { environment: "A=1", params: { a: [1, null] } }));
    fits(routes.createJob, job);
    await runJob(client, python("raise ValueError('\"quoted\"\\n\\u2028')"));
    await createJob(client, shell(":", { start_after: "2040-01-01T00:00:00Z", query_name: 'a "name"' }));
    fits(routes.createJob, await createJob(client, shell(":", { cron_expression: "@daily" })));
    fits(routes.listJobs, await client.call(routes.listJobs, { query: { limit: 100 } }));
    fits(routes.listJobs, await client.call(routes.listJobs, { query: { limit: 100, include_steps: true } }));
  });

  it("for people, teams, invitations, tokens and the audit", async () => {
    const params = { team_name: "crew" };
    const user = { username: "ada" };
    fits(routes.createUser, await client.call(routes.createUser, { body: { ...user, email: "a@x.org" } }));
    fits(routes.updateUser, await client.call(routes.updateUser, { params: user, body: { disabled: true } }));
    fits(routes.getUser, await client.call(routes.getUser, { params: user }));
    fits(routes.listUsers, await client.call(routes.listUsers, { query: {} }));
    fits(routes.createTeam, await client.call(routes.createTeam, { body: { name: "crew", admin: "ada" } }));
    fits(routes.updateTeam, await client.call(routes.updateTeam, { params, body: { max_running: 1 } }));
    fits(routes.getTeam, await client.call(routes.getTeam, { params }));
    fits(routes.listTeams, await client.call(routes.listTeams, {}));
    const member = { username: "admin", role: "viewer" } as const;
    fits(routes.addMember, await client.call(routes.addMember, { params, body: member }));
    fits(routes.listMembers, await client.call(routes.listMembers, { params }));
    const invitation = await client.call(routes.createInvitation, { params, body: { role: "viewer" } });
    fits(routes.createInvitation, invitation);
    fits(routes.listInvitations, await client.call(routes.listInvitations, { params }));
    const code = new URL(invitation.url).searchParams.get("code") ?? "";
    fits(routes.readInvitation, await client.call(routes.readInvitation, { body: { code } }));
    fits(routes.createToken, await client.call(routes.createToken, { body: { name: "t", team_names: ["crew"] } }));
    fits(routes.listTokens, await client.call(routes.listTokens, { query: { all_users: true } }));
    fits(routes.listAudit, await client.call(routes.listAudit, { query: {} }));
    fits(routes.updateProfile, await client.call(routes.updateProfile, { body: { first_name: "A" } }));
  });

  it("for pipelines, with settings and with a run that failed", async () => {
    await makeDataset({ store: server.store, client }, "answered", "exit 1");
    const triggered = await client.call(routes.triggerPipeline, { body: { datasets: ["answered"], review: true } });
    fits(routes.triggerPipeline, triggered);
    const { name } = triggered.pipeline;
    const settings = { pipeline_name: name, workers: 1, environment: "A=1", requirements: "" };
    fits(routes.updatePipelineSettings, await client.call(routes.updatePipelineSettings, { body: settings }));
    fits(routes.resumePipeline, await client.call(routes.resumePipeline, { body: { name } }));
    fits(routes.getPipeline, await waitForPipelineEnd(client, name));
    fits(routes.listPipelines, await client.call(routes.listPipelines, { query: {} }));
    fits(routes.listJobs, await client.call(routes.listJobs, { query: { name: "answered.sh" } }));
  });

  it("for everything else that returns JSON", async () => {
    const { job } = await runJob(client, shell("echo 1"));
    fits(routes.getJobLogs, await client.call(routes.getJobLogs, { params: { job_id: job.id }, query: {} }));
    const ofJob = { params: { job_id: job.id }, query: {} };
    fits(routes.getLogLines, await client.call(routes.getLogLines, ofJob));
    const found = { params: ofJob.params, query: { text: "1" } };
    fits(routes.searchLog, await client.call(routes.searchLog, found));
    fits(routes.listClusters, await client.call(routes.listClusters, { query: {} }));
    fits(routes.datasetJobVersions, await client.call(routes.datasetJobVersions, { query: { job_id: job.id } }));
    fits(routes.uploadFile, await client.upload(routes.uploadFile, new Blob(["x"]), "x"));
    fits(routes.whoAmI, await client.call(routes.whoAmI, {}));
    fits(routes.startDeviceLogin, await client.call(routes.startDeviceLogin, { body: {} }));
    fits(routes.healthz, await client.call(routes.healthz, {}));
    fits(routes.readyz, await client.call(routes.readyz, {}));
    fits(routes.getSystem, await client.call(routes.getSystem, {}));
    fits(routes.getDoctor, await client.call(routes.getDoctor, {}));
    fits(routes.openapiJson, await client.call(routes.openapiJson, {}));
    const task = await createJob(client, shell(":", { cron_expression: "@daily" }));
    fits(routes.cancelJob, await client.call(routes.cancelJob, { params: { job_id: task.id }, body: {} }));
  });
});

describe("the API description, which is public", () => {
  it("is generated once, as a document and as a page", async (t) => {
    const server = await startInProcess();
    t.after(() => server.dispose());
    let written = 0;
    const { summary } = routes.healthz;
    const restored = { value: summary, configurable: true, enumerable: true, writable: true };
    t.after(() => Object.defineProperty(routes.healthz, "summary", restored));
    Object.defineProperty(routes.healthz, "summary", {
      ...{ configurable: true, enumerable: true },
      get: () => {
        written++;
        return summary;
      },
    });
    for (const path of ["/api/openapi.json", "/api/docs"]) {
      written = 0;
      for (let i = 0; i < 5; i++) {
        const text = await (await server.fetch(path, { token: null })).text();
        assert.ok(text.includes(summary), path);
      }
      assert.equal(written, 1, path);
    }
  });
});
