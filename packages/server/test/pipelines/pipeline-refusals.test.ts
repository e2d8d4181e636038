/** Pipelines that cannot be created are refused with the reason, and nothing is created. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { type Client, type ErrorCode, routes } from "@millrace/contract";
import { createJob, readJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type Made, makeDataset, originalJob, recordMade } from "@millrace/testing/millrace/lineage.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { runningJob } from "../support/job-tokens.ts";
import { addPerson, refused } from "../support/people.ts";
import { trigger, waitForPipelineEnd } from "../support/pipelines.ts";
import { addTeam } from "../support/teams.ts";

describe("a pipeline is refused", () => {
  let server: InProcessServer;
  let client: Client;
  let world: { store: InProcessServer["store"]; client: Client };
  let count = 0;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
    world = { store: server.store, client };
  });
  after(() => server.dispose());
  let name: string;
  beforeEach(() => {
    name = `d${++count}`;
  });

  const sizes = async () => {
    const { db } = server.store;
    const jobs = await db.selectFrom("jobs").select("id").where("status", "=", "PENDING").execute();
    return [(await db.selectFrom("pipelines").select("id").execute()).length, jobs.length];
  };
  const refuses = async (datasets: string[], code: ErrorCode, message: RegExp, caller = client) => {
    const before = await sizes();
    await refused(trigger(caller, datasets), code, message);
    assert.deepEqual(await sizes(), before, "something was made");
  };

  it("for no dataset at all, and for an invalid name", async () => {
    await refuses([], "invalid", /datasets/);
    for (const text of ["", "a b", "a.b.c.d", "x@1", "x@1.2", "..", "a@b@1.0.0"])
      await refuses([text], "invalid", /datasets: expected a dataset such as name/);
  });

  it("for a dataset that does not exist, even among others that do", async () => {
    await makeDataset(world, name, "true");
    await refuses([name, "nowhere"], "not_found", /no dataset @admin\.default\.nowhere in the team main/);
    await refuses([`elsewhere.${name}`], "not_found", /no dataset @admin\.elsewhere/);
  });

  it("for a version that does not exist, is not complete, or was removed", async () => {
    const made = await makeDataset(world, name, "true");
    await refuses([`${name}@9.9.9`], "not_found", new RegExp(`${name} has no usable version 9\\.9\\.9`));
    await server.store.write((db) =>
      db.updateTable("dataset_versions").set({ status: 8 }).where("uuid", "=", made.uuid).execute(),
    );
    await refuses(
      [`${name}@1.0.0`],
      "not_found",
      /no usable version 1\.0\.0: this version does not exist, is incomplete or was removed/,
    );
    await refuses([name], "not_found", /has no usable version/);
  });

  it("for a version that no job created, wherever it is in the lineage", async () => {
    const registered = await recordMade(server.store, null, name);
    await refuses([name], "invalid", new RegExp(`@admin\\.default\\.${name}@1\\.0\\.0 was not created by a job`));
    await makeDataset(world, `${name}_below`, "true", { needs: [registered] });
    await refuses(
      [`${name}_below`],
      "invalid",
      new RegExp(`@admin\\.default\\.${name}@1\\.0\\.0 was not created by a job`),
    );
  });

  it("for jobs that need each other", async () => {
    const first = await originalJob(client, shell("true", { query_name: "one.sh" }));
    const a = await recordMade(server.store, first.id, `${name}_a`);
    const b = await makeDataset(world, `${name}_b`, "true", { needs: [a], input: { query_name: "two.sh" } });
    await recordMade(server.store, first.id, `${name}_c`, { needs: [b] });
    await refuses(
      [`${name}_c`],
      "invalid",
      /the jobs (one|two)\.sh \(.*\) and (one|two)\.sh .* need each other's datasets/,
    );
    const pipeline = await trigger(client, [`${name}_b`], true);
    assert.equal(pipeline.total, 2, "without the version that closes the circle there is none");
  });

  it("for a job that no longer exists or belongs to another team", async () => {
    const nobody = "0198f000-0000-7000-8000-000000000000";
    await recordMade(server.store, nobody, name);
    await refuses(
      [name],
      "invalid",
      new RegExp(`the job ${nobody} would have to run again, .* the job no longer exists`),
    );
    const other = await addTeam(server, `team${count}`);
    const job = await originalJob(other, shell("true"));
    await recordMade(server.store, job.id, `${name}_stolen`);
    await refuses([`${name}_stolen`], "invalid", /no longer exists/);
  });

  it("for a job whose files no longer exist", async () => {
    const file = await client.upload(routes.uploadFile, new Blob(["x"]), "input.txt");
    await makeDataset(world, name, "true", { input: { files: [file.id] } });
    await server.store.write((db) => db.deleteFrom("files").where("id", "=", file.id).execute());
    await refuses([name], "invalid", new RegExp(`a file of the job ${name}\\.sh \\(.*\\) no longer exists`));
  });

  it("for a job whose creator was disabled, left the team, or may no longer run jobs", async () => {
    const { username, client: theirs } = await addPerson(server, `p${count}`, { team: "main" });
    await makeDataset({ ...world, client: theirs }, name, "true");
    const member = { team_name: "main", username };
    await client.call(routes.updateMember, { params: member, body: { role: "viewer" } });
    await refuses(
      [name],
      "invalid",
      new RegExp(`belongs to ${username}, who is viewer in the team, and may not run jobs`),
    );
    await client.call(routes.removeMember, { params: member, query: {} });
    await refuses([name], "invalid", new RegExp(`belongs to ${username}, who is not in the team`));
    await client.call(routes.updateUser, { params: { username }, body: { disabled: true } });
    await refuses([name], "invalid", new RegExp(`belongs to ${username}, who is disabled`));
  });

  it("for more lineage than the limit, without reading all of it", async () => {
    const made: Made[] = [];
    for (let index = 0; index < 450; index++) made.push(await recordMade(server.store, null, `${name}_${index}`));
    const uuids = made.map(({ uuid }) => uuid);
    await server.store.write((db) =>
      db
        .insertInto("dataset_dependencies")
        .columns(["version_id", "needs_version_id"])
        .expression(
          db
            .selectFrom("dataset_versions as below")
            .innerJoin("dataset_versions as above", (join) => join.onRef("above.id", "<", "below.id"))
            .select(["below.id as version_id", "above.id as needs_version_id"])
            .where("below.uuid", "in", uuids)
            .where("above.uuid", "in", uuids),
        )
        .execute(),
    );
    await refuses(
      [`${name}_449`],
      "invalid",
      /more than 20000 versions, or the versions have more than 100000 dependencies between them/,
    );
    await refuses([`${name}_440`], "invalid", /was not created by a job/);
  });

  it("to have a run removed if that would leave more dependencies than the limit", async () => {
    const middle = await makeDataset(world, name, "true");
    const { name: pipeline_name, pipeline_id } = await trigger(client, [name], true);
    const job_id = middle.jobId ?? "";
    const edges = Array.from({ length: 400 }, (_, index) => [
      { pipeline_id, job_id, parent_job_id: `above-${index}` },
      { pipeline_id, job_id: `below-${index}`, parent_job_id: job_id },
    ]).flat();
    await server.store.write((db) => db.insertInto("pipeline_edges").values(edges).execute());
    const remove = () => client.call(routes.removeJobFromPipeline, { body: { name: pipeline_name, job_id } });
    await refused(remove(), "wrong_state", /each of its 400 children .* each of its 400 parents/);
    await server.store.write((db) =>
      db.deleteFrom("pipeline_edges").where("parent_job_id", "=", job_id).where("job_id", ">", "below-2").execute(),
    );
    assert.equal((await remove()).pipeline.total, 0);
  });

  it("while the team's queue is full, unless it is for review; resuming is refused, too", async () => {
    const team = await addTeam(server, `full${count}`, { max_queued: 1, max_running: 1 });
    const job = await originalJob(team, shell("true"));
    const teams = server.store.db.selectFrom("teams").select("id").where("name", "=", `full${count}`);
    await recordMade(server.store, job.id, name, { teamId: (await teams.executeTakeFirstOrThrow()).id });
    const running = await runningJob(team);
    const waiting = await createJob(team, shell("true"));
    await refuses([name], "too_many_requests", /has 1 waiting jobs, as many as its quota allows/, team);
    const pipeline = await trigger(team, [name], true);
    const resume = () => team.call(routes.resumePipeline, { body: { name: pipeline.name } });
    await refused(resume(), "too_many_requests", /quota/);
    await team.call(routes.cancelJob, { params: { job_id: waiting.id }, body: {} });
    assert.equal((await resume()).pipeline.status, "RUNNING");
    await running.end();
  });

  const changes = (username: string): Record<string, () => Promise<unknown>> => {
    const member = { team_name: "main", username };
    return {
      "is viewer in the team, and may not run jobs": () =>
        client.call(routes.updateMember, { params: member, body: { role: "viewer" } }),
      "is not in the team": () => client.call(routes.removeMember, { params: member, query: {} }),
      "is disabled": () => client.call(routes.updateUser, { params: { username }, body: { disabled: true } }),
    };
  };

  it("to be resumed if the creator of a run has left meanwhile, until that run is removed", async () => {
    const { username, client: theirs } = await addPerson(server, `q${count}`, { team: "main" });
    const made = await makeDataset({ ...world, client: theirs }, name, "true");
    await makeDataset(world, `${name}_below`, "true", { needs: [made] });
    const pipeline = await trigger(client, [`${name}_below`], true);
    const body = { name: pipeline.name };
    for (const [why, change] of Object.entries(changes(username))) {
      await change();
      const message = new RegExp(
        `cannot be resumed: the job .* belongs to ${username}, who ${why}\\..*Remove the run of this job`,
      );
      await refused(client.call(routes.resumePipeline, { body }), "wrong_state", message);
    }
    await client.call(routes.removeJobFromPipeline, { body: { ...body, job_id: made.jobId ?? "" } });
    await client.call(routes.resumePipeline, { body });
    assert.equal((await waitForPipelineEnd(client, pipeline.name)).status, "COMPLETED");
  });

  it("at the start of a run whose creator left while others ran: the run fails with the reason", async () => {
    for (const index of [0, 1, 2]) {
      const { username, client: theirs } = await addPerson(server, `r${count}${index}`, { team: "main" });
      const gate = join(server.dataDir, `gate-${username}`);
      const first = await makeDataset(world, `first_${username}`, `while [ ! -e ${gate} ]; do sleep 0.02; done`);
      const wishes = { needs: [first], namespace: "shared" };
      await makeDataset({ ...world, client: theirs }, `second_${username}`, "true", wishes);
      const pipeline = await trigger(client, [`shared.default.second_${username}`]);
      const [why, change] = Object.entries(changes(username))[index] ?? assert.fail();
      await change();
      await writeFile(gate, "");
      const failed = await waitForPipelineEnd(client, pipeline.name);
      assert.equal(failed.status, "FAILED");
      assert.match(failed.error_message ?? "", new RegExp(`could not start: .* belongs to ${username}, who ${why}\\.`));
      assert.equal((await readJob(client, failed.job_runs[1]?.created_job_id ?? "")).started_at, null);
    }
  });

  it("and otherwise runs other people's jobs as theirs, also when a job requests it", async () => {
    const { username, client: theirs } = await addPerson(server, `owner${count}`, { team: "main" });
    await makeDataset({ ...world, client: theirs }, name, "true", { namespace: "shared" });
    const running = await runningJob(client);
    const response = await server.fetch("/api/datachain/pipeline/trigger", {
      token: running.token,
      json: { datasets: [`shared.default.${name}`], team_name: "main" },
    });
    assert.equal(response.status, 200);
    const { pipeline } = (await response.json()) as Awaited<ReturnType<typeof answer>>;
    assert.equal(pipeline.created_by, "admin");
    const done = await waitForPipelineEnd(client, pipeline.name);
    assert.equal(done.status, "COMPLETED");
    assert.equal((await readJob(client, done.job_runs[0]?.created_job_id ?? "")).created_by, username);
    await running.end();
  });
  const answer = () => client.call(routes.triggerPipeline, { body: { datasets: [] } });
});
