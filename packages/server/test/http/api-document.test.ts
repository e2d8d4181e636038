/** Every row of the API's description, checked on a running server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type Job, type Pipeline, type PipelineSchedule, routes } from "@millrace/contract";
import { createJob, readLog, runJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset, originalJob, recordMade } from "@millrace/testing/millrace/lineage.ts";
import { createSignInLink } from "../../src/domain/people/sessions.ts";
import {
  type Endpoint,
  type EndpointName,
  endpoints,
  inputs,
  type ObjectName,
  objects,
  type Rule,
  rules,
} from "../support/api-document.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { Visitor } from "../support/people.ts";
import { waitForPipelineEnd } from "../support/pipelines.ts";

type Json = Record<string, unknown>;

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const timestamp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const types: Record<string, (value: unknown) => boolean> = {
  uuid: (value) => typeof value === "string" && uuid.test(value),
  timestamp: (value) => typeof value === "string" && timestamp.test(value),
  string: (value) => typeof value === "string",
  integer: Number.isInteger,
  boolean: (value) => typeof value === "boolean",
  object: isObject,
  map: (value) => isObject(value) && Object.values(value).every((entry) => typeof entry === "string"),
  uuids: (value) => Array.isArray(value) && value.every((entry) => uuid.test(entry)),
  "JobPipelineRun[]": (value) => Array.isArray(value) && value.every((entry) => fits("JobPipelineRun", entry)),
  Pipeline: (value) => fits("Pipeline", value),
  PipelineSchedule: (value) => fits("PipelineSchedule", value),
  User: (value) => fits("User", value),
};

/** Every field is present, and is null or of its type. */
const fits = (name: ObjectName, value: unknown): boolean =>
  isObject(value) &&
  Object.entries(objects[name]).every(
    ([field, type]) => field in value && (value[field] === null || types[type]?.(value[field])),
  );

/** Fields that are null in every answer, with the reason. */
const neverHere: readonly string[] = [
  // The local cluster is this machine and needs no cloud credentials.
  "ComputeClusterOutput.cloud_credentials",
];

describe("the description of the API", () => {
  let server: InProcessServer;
  let client: Client;
  const answers = new Map<ObjectName, Json[]>();
  const calls = new Map<EndpointName, { path: string; init: RequestInit & { json?: unknown } }>();
  let described: Job;
  let original: Job;
  let complete: { job: Job; log: string };
  let failed: Job;
  let fileId: string;
  let rerunOf: string;
  let schedule: PipelineSchedule;
  let template: string;
  let failedPipeline: Pipeline;

  /** Calls an endpoint of the description and keeps the answer as an example. */
  async function call(name: EndpointName, path: string, init: RequestInit & { json?: unknown } = {}): Promise<Json> {
    calls.set(name, { path, init });
    const method = name.split(" ")[0] ?? "";
    const response = await server.fetch(`/api${path}`, { method, ...init });
    const text = await response.text();
    assert.equal(response.status, 200, `${name}: ${text}`);
    if (endpoints[name].response === "any") return { text };
    assert.match(response.headers.get("content-type") ?? "", /^application\/json/);
    const body = JSON.parse(text) as Json;
    keep(endpoints[name].response as ObjectName | readonly [ObjectName], body);
    return body;
  }

  function keep(kind: ObjectName | readonly [ObjectName], body: unknown): void {
    if (typeof kind !== "string") {
      assert.ok(Array.isArray(body), `an array of ${kind[0]}`);
      for (const entry of body) keep(kind[0], entry);
      return;
    }
    const known = answers.get(kind) ?? [];
    answers.set(kind, [...known, body as Json]);
    if (!isObject(body)) return;
    for (const [field, type] of Object.entries(objects[kind])) {
      const value = body[field];
      if (type in objects && value) keep(type as ObjectName, value);
      if (type === "JobPipelineRun[]") keep(["JobPipelineRun"], value);
    }
  }

  const post = (name: EndpointName, json: object) => call(name, name.split(" ")[1] ?? "", { json });
  const trigger = async (datasets: string[], review = false) =>
    (await post("POST /datachain/pipeline/trigger", { datasets, team_name: "main", review }))["pipeline"] as Pipeline;

  const everything = (): Json => ({
    query: "echo described",
    query_type: "SHELL",
    team_name: "main",
    environment: "COLOUR=green\nSIZE=2",
    workers: 2,
    query_name: "described.sh",
    rerun_from_job_id: rerunOf,
    files: [fileId],
    python_version: "3.12",
    requirements: "attrs",
    repository: "https://git.example/a.git@main",
    priority: 1,
    compute_cluster_name: "local",
    start_after: "2099-01-01T00:00:00Z",
    cron_expression: "0 3 * * *",
    credentials_name: "aws",
    reset: true,
  });

  before(async () => {
    server = await startInProcess({ MILLRACE_MAX_WORKERS: "2" });
    client = await server.client();
    await client.call(routes.setTeamCredentials, { body: { name: "aws", values: { AWS_KEY: "planted" } } });
    const form = new FormData();
    form.set("file", new Blob(["of the file"]), "note.txt");
    const uploaded = await call("POST /datachain/jobs/files", "/datachain/jobs/files?team_name=main", { body: form });
    fileId = String(uploaded["id"]);

    rerunOf = (await runJob(client, shell("exit 0"))).job.id;
    described = (await post("POST /datachain/jobs/", everything())) as unknown as Job;
    await call("POST /datachain/jobs/{job_id}/cancel", `/datachain/jobs/${described.id}/cancel`, {
      json: { team_name: "main" },
    });
    const script = 'echo "$COLOUR $AWS_KEY $(cat note.txt)"';
    const run = { environment: "COLOUR=green", files: [fileId], credentials_name: "aws", query_name: "seen" };
    complete = await runJob(client, shell(script, run));
    await call("GET /datachain/jobs/{job_id}/logs", `/datachain/jobs/${complete.job.id}/logs?team_name=main`);
    failed = await waitForEnd(
      client,
      (await createJob(client, { query: "raise ValueError('no')", query_type: "PYTHON" })).id,
    );
    const task = await createJob(client, shell("exit 0", { start_after: "2020-01-01T00:00:00Z" }));
    await waitForStatus(client, task.id, ["COMPLETE"]);

    await makeDataset({ store: server.store, client }, "base", "exit 0");
    const base = await recordMade(
      server.store,
      (await originalJob(client, shell("exit 0", { query_name: "base" }))).id,
      "base",
      { version: "2.0.0" },
    );
    await makeDataset({ store: server.store, client }, "one", "exit 0", { needs: [base] });
    await makeDataset({ store: server.store, client }, "two", "exit 0", { needs: [base] });
    original = await originalJob(client, { query: "raise ValueError('no')", query_type: "PYTHON" });
    await recordMade(server.store, original.id, "broken");

    const source = await trigger(["one"], true);
    const team_name = "main";
    const created = await post("POST /datachain/pipeline/create-schedule", {
      schedule_name: "yearly",
      team_name,
      pipeline_name: source.name,
      start_after: "2030-01-01T00:00:00Z",
      cron_expression: "@yearly",
    });
    schedule = created["schedule"] as PipelineSchedule;
    template = schedule.pipeline.name;
    await post("POST /datachain/pipeline/settings", {
      team_name,
      pipeline_name: template,
      python_version: "3.12",
      requirements: "attrs",
      repository: "https://git.example/a.git",
      workers: 1,
      priority: 2,
      environment: "COLOUR=green",
      files: [fileId],
      credentials_names: ["aws"],
    });
    await server.store.write((db) =>
      db.updateTable("schedules").set({ next_run: "2020-01-01T00:00:00.000Z" }).execute(),
    );
    for (const deadline = Date.now() + 120_000; Date.now() < deadline && !schedule.latest_run; ) {
      schedule = await client.call(routes.getSchedule, { query: { schedule_id: schedule.id } });
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await call(
      "GET /datachain/pipeline/schedule",
      `/datachain/pipeline/schedule?team_name=main&schedule_id=${schedule.id}`,
    );
    await call("GET /datachain/pipeline/schedules", "/datachain/pipeline/schedules?team_name=main");
    await post("POST /datachain/pipeline/update-schedule", {
      team_name,
      schedule_id: schedule.id,
      schedule_name: "renamed",
    });

    failedPipeline = await waitForPipelineEnd(client, (await trigger(["broken"])).name);
    const name = failedPipeline.name;
    await call("GET /datachain/pipeline/status", `/datachain/pipeline/status?team_name=main&name=${name}`);
    await call("GET /datachain/pipeline/list", "/datachain/pipeline/list?team_name=main");
    await call("GET /datachain/jobs/", "/datachain/jobs/?team_name=main&limit=100");
    await call("GET /datachain/clusters/", "/datachain/clusters/?team_name=main");

    const paused = await trigger(["one"], true);
    await post("POST /datachain/pipeline/remove-job", {
      team_name,
      name: paused.name,
      job_id: paused.job_runs[0]?.created_job_id,
    });
    const long = (await makeDataset({ store: server.store, client }, "long", "sleep 60")).name;
    const running = await trigger([long]);
    await post("POST /datachain/pipeline/pause", { team_name, pipeline_id: running.pipeline_id });
    await post("POST /datachain/pipeline/resume", { team_name, name: running.name });
    await client.call(routes.cancelPipeline, { body: { name: running.name } });
    const other = await client.call(routes.createSchedule, {
      body: { schedule_name: "gone", pipeline_name: source.name, cron_expression: "@yearly" },
    });
    await post("POST /datachain/pipeline/delete-schedule", { team_name, schedule_id: other.schedule.id });
  });
  after(() => server.dispose());

  describe("objects", () => {
    for (const [name, fields] of Object.entries(objects))
      for (const [field, type] of Object.entries(fields))
        it(`${name} has ${field}: ${type}`, () => {
          const values = (answers.get(name as ObjectName) ?? []).map((answer) => {
            assert.ok(field in answer, `absent in ${JSON.stringify(answer).slice(0, 300)}`);
            return answer[field];
          });
          const given = values.filter((value) => value !== null);
          for (const value of given) assert.ok(types[type]?.(value), `${JSON.stringify(value)}`.slice(0, 300));
          assert.equal(given.length > 0, !neverHere.includes(`${name}.${field}`), "seen in an answer");
        });
  });

  describe("endpoints", () => {
    for (const name of Object.keys(endpoints) as EndpointName[]) {
      it(`${name} answers 200 as described`, () => {
        assert.ok(calls.has(name), "it was called");
      });

      it(`${name} needs a token with the scope, of a member of the team`, async () => {
        const { path, init } = calls.get(name) ?? { path: "", init: {} };
        const method = name.split(" ")[0] ?? "";
        const status = async (token: string | null, team = "main") => {
          const json = init.json === undefined ? {} : { json: { ...(init.json as object), team_name: team } };
          const at = path.includes("?")
            ? path.replace("team_name=main", `team_name=${team}`)
            : `${path}?team_name=${team}`;
          return (await server.fetch(`/api${at}`, { method, ...init, ...json, token })).status;
        };
        assert.equal(await status(null), 401);
        assert.equal(await status("isat_unknown"), 401);
        assert.equal(await status(await server.token({ team: "main" }), "other"), 403);
        const endpoint: Endpoint = endpoints[name];
        const others = ["DATASETS", "ADMIN", ...(endpoint.scope === "JOB:write" ? ["JOB:read"] : [])];
        assert.equal(await status(await server.token({ scopes: others })), 403);
        if (endpoint.scope) assert.notEqual(await status(await server.token({ scopes: [endpoint.scope] })), 403);
      });
    }
  });

  type Proof = () => unknown;
  const shown = (field: keyof Job, value: unknown) => () => assert.deepEqual(described[field], value);
  /** The same request with another team in this field is refused, which shows that the field is used. */
  const namesTeam = (name: EndpointName) => async () => {
    const { path, init } = calls.get(name) ?? { path: "", init: {} };
    const json = { ...(init.json as object), team_name: "no-such-team" };
    assert.equal((await server.fetch(`/api${path}`, { json })).status, 403);
  };
  const scheduleOf = (name: EndpointName) => calls.get(name)?.init.json as Json;
  const settings = async () =>
    (await client.call(routes.getPipeline, { query: { name: template } })) as unknown as Json;
  const setting = (field: string, value: unknown) => async () => assert.deepEqual((await settings())[field], value);

  const proofs: Record<string, Proof> = {
    "Job input.query": shown("query", "echo described"),
    "Job input.query_type": async () => {
      assert.equal(described.query_type, "SHELL");
      assert.equal(failed.query_type, "PYTHON");
    },
    "Job input.team_name": namesTeam("POST /datachain/jobs/"),
    "Job input.environment": () => {
      assert.deepEqual(described.environment, { COLOUR: "green", SIZE: "2" });
      assert.match(complete.log, /^green /);
    },
    "Job input.workers": shown("workers", 2),
    "Job input.query_name": shown("name", "described.sh"),
    "Job input.rerun_from_job_id": () => assert.equal(described.rerun_from_job_id, rerunOf),
    "Job input.files": () => {
      assert.deepEqual(described.files, [fileId]);
      assert.match(complete.log, /of the file/);
    },
    "Job input.python_version": shown("python_version", "3.12"),
    "Job input.requirements": shown("requirements", "attrs"),
    "Job input.repository": shown("repository", "https://git.example/a.git@main"),
    "Job input.priority": shown("priority", 1),
    "Job input.compute_cluster_name": shown("compute_cluster_name", "local"),
    "Job input.compute_cluster_id": async () => {
      const compute_cluster_id = described.compute_cluster_id;
      const job = await createJob(client, shell("exit 0", { compute_cluster_id, start_after: "2099-01-01" }));
      assert.equal(job.compute_cluster_name, "local");
      await assert.rejects(createJob(client, shell("exit 0", { compute_cluster_id: 4711 })), { code: "invalid" });
    },
    "Job input.start_after": shown("start_after", "2099-01-01T00:00:00.000Z"),
    "Job input.cron_expression": () => {
      assert.equal(described.cron_expression, "0 3 * * *");
      assert.equal(described.next_run, "2099-01-01T03:00:00.000Z");
    },
    "Job input.credentials_name": () => {
      assert.equal(described.credentials_name, "aws");
      assert.doesNotMatch(complete.log, /planted/, "masked");
      assert.match(complete.log, /^green \*+ of/);
    },
    "Job input.reset": shown("reset", true),
    "Cancel input.team_name": namesTeam("POST /datachain/jobs/{job_id}/cancel"),
    "CreatePipelineScheduleInput.schedule_name": () =>
      assert.equal(scheduleOf("POST /datachain/pipeline/create-schedule")["schedule_name"], "yearly"),
    "CreatePipelineScheduleInput.team_name": namesTeam("POST /datachain/pipeline/create-schedule"),
    "CreatePipelineScheduleInput.pipeline_name": () => assert.equal(schedule.pipeline.job_runs.length, 2),
    "CreatePipelineScheduleInput.start_after": () => assert.equal(schedule.start_after, "2030-01-01T00:00:00.000Z"),
    "CreatePipelineScheduleInput.cron_expression": () => assert.equal(schedule.cron_expression, "@yearly"),
    "UpdatePipelineScheduleInput.schedule_name": async () =>
      assert.equal(
        (await client.call(routes.getSchedule, { query: { schedule_id: schedule.id } })).schedule_name,
        "renamed",
      ),
    "UpdatePipelineScheduleInput.team_name": namesTeam("POST /datachain/pipeline/update-schedule"),
    "UpdatePipelineScheduleInput.schedule_id": () =>
      assert.rejects(client.call(routes.updateSchedule, { body: { schedule_id: 4711 } }), { code: "not_found" }),
    "UpdatePipelineScheduleInput.start_after": async () =>
      assert.equal((await update({ start_after: "2090-01-01T00:00:00Z" })).next_run, "2090-01-01T00:00:00.000Z"),
    "UpdatePipelineScheduleInput.cron_expression": async () =>
      assert.equal((await update({ cron_expression: "0 5 * * *" })).cron_expression, "0 5 * * *"),
    "UpdatePipelineScheduleInput.pause_pipeline": async () => {
      assert.equal((await update({ pause_pipeline: true })).next_run, null);
      assert.notEqual((await update({ pause_pipeline: false })).next_run, null);
    },
    "DeletePipelineScheduleInput.team_name": namesTeam("POST /datachain/pipeline/delete-schedule"),
    "DeletePipelineScheduleInput.schedule_id": async () => {
      const listed = await client.call(routes.listSchedules, { query: {} });
      assert.deepEqual(
        listed.map(({ schedule_name }) => schedule_name),
        ["renamed"],
      );
    },
    "TriggerPipelineInput.datasets": () => assert.equal(failedPipeline.job_runs[0]?.job_id, original.id),
    "TriggerPipelineInput.team_name": namesTeam("POST /datachain/pipeline/trigger"),
    "TriggerPipelineInput.review": async () => assert.equal((await trigger(["one"], true)).status, "PAUSED"),
    "UpdatePipelineSettingsInput.team_name": namesTeam("POST /datachain/pipeline/settings"),
    "UpdatePipelineSettingsInput.pipeline_name": async () => assert.equal((await settings())["is_template"], true),
    "UpdatePipelineSettingsInput.python_version": setting("python_version", "3.12"),
    "UpdatePipelineSettingsInput.requirements": setting("requirements", "attrs"),
    "UpdatePipelineSettingsInput.repository": setting("repository", "https://git.example/a.git"),
    "UpdatePipelineSettingsInput.workers": setting("workers", 1),
    "UpdatePipelineSettingsInput.priority": setting("priority", 2),
    "UpdatePipelineSettingsInput.environment": setting("environment_variables", { COLOUR: "green" }),
    "UpdatePipelineSettingsInput.files": async () => assert.deepEqual((await firedJob()).files, [fileId]),
    "UpdatePipelineSettingsInput.credentials_names": async () =>
      assert.equal((await firedJob()).credentials_name, "aws"),
    "PipelineInput.team_name": namesTeam("POST /datachain/pipeline/pause"),
    "PipelineInput.pipeline_id": () =>
      assert.ok("pipeline_id" in scheduleOf("POST /datachain/pipeline/pause"), "it was paused by its id"),
    "PipelineInput.name": () =>
      assert.ok("name" in scheduleOf("POST /datachain/pipeline/resume"), "and resumed by name"),
    "RemoveJobFromPipelineInput.team_name": namesTeam("POST /datachain/pipeline/remove-job"),
    "RemoveJobFromPipelineInput.pipeline_id": async () => assert.equal((await removeFrom("pipeline_id")).total, 1),
    "RemoveJobFromPipelineInput.name": async () => assert.equal((await removeFrom("name")).total, 1),
    "RemoveJobFromPipelineInput.job_id": () =>
      assert.equal(
        (answers.get("PipelineOutput") ?? []).some(({ pipeline }) => (pipeline as Pipeline).total === 1),
        true,
      ),
  };

  const update = async (changes: object) =>
    (await client.call(routes.updateSchedule, { body: { schedule_id: schedule.id, ...changes } })).schedule;
  async function firedJob(): Promise<Job> {
    const [job] = await client.call(routes.listJobs, {
      query: { job_id: schedule.latest_run?.job_runs[0]?.created_job_id ?? "" },
    });
    return job as Job;
  }
  async function removeFrom(by: "name" | "pipeline_id"): Promise<Pipeline> {
    const pipeline = await trigger(["one"], true);
    const body = { [by]: pipeline[by], job_id: pipeline.job_runs[0]?.job_id ?? "" };
    return (await client.call(routes.removeJobFromPipeline, { body })).pipeline;
  }

  describe("fields of requests", () => {
    for (const [body, fields] of Object.entries(inputs))
      for (const field of fields)
        it(`${body} accepts ${field}`, async () => {
          const proof = proofs[`${body}.${field}`];
          assert.ok(proof, "it has a proof");
          await proof();
        });
    it("every proof belongs to a row of the description", () => {
      const known = Object.entries(inputs).flatMap(([body, fields]) => fields.map((field) => `${body}.${field}`));
      assert.deepEqual(Object.keys(proofs).sort(), known.sort());
    });
  });

  const ruleProofs: Record<Rule, Proof> = {
    "a job that is created is CREATED": async () => {
      const job = await createJob(client, shell("exit 0"));
      assert.equal(job.status, "CREATED");
    },
    "a pipeline that is triggered is RUNNING": async () => assert.equal((await trigger(["one"])).status, "RUNNING"),
    "a compute cluster is ACTIVE": () => assert.equal(answers.get("ComputeClusterOutput")?.[0]?.["status"], "ACTIVE"),
    "the list of jobs may be filtered by status": async () => {
      const jobs = await client.call(routes.listJobs, { query: { status: ["FAILED"], limit: 100 } });
      assert.ok(jobs.length > 0 && jobs.every(({ status }) => status === "FAILED"));
    },
    "the logs of an active job can be read": () =>
      active("RUNNING", async (job) => assert.equal(await readLog(client, job.id), "begun\n")),
    "a running job can be canceled": () => active("RUNNING", async () => {}),
    "a queued job can be canceled": async () => {
      const running = await createJob(client, shell("sleep 60", { workers: 2 }));
      await waitForStatus(client, running.id, ["RUNNING"]);
      const queued = await createJob(client, shell("exit 0"));
      await client.call(routes.cancelJob, { params: { job_id: queued.id }, body: {} });
      assert.equal((await waitForEnd(client, queued.id)).status, "CANCELED");
      await client.call(routes.cancelJob, { params: { job_id: running.id }, body: {} });
      await waitForEnd(client, running.id);
    },
    "compute_cluster_name and compute_cluster_id must not both be given": () =>
      assert.rejects(createJob(client, shell("", { compute_cluster_name: "local", compute_cluster_id: 1 })), {
        code: "invalid",
      }),
    "an upload is multipart/form-data with one part `file`, for the team of its query": async () => {
      const form = new FormData();
      form.set("other", new Blob(["x"]), "x");
      const send = (body: FormData, team: string) =>
        server.fetch(`/api/datachain/jobs/files?team_name=${team}`, { method: "POST", body });
      assert.equal((await send(form, "main")).status, 400);
      form.delete("other");
      form.set("file", new Blob(["x"]), "x");
      assert.equal((await send(form, "no-such-team")).status, 403);
      assert.equal((await send(form, "main")).status, 200);
      assert.equal((await server.fetch("/api/datachain/jobs/files?team_name=main", { json: {} })).status, 415);
    },
    "the id of an upload goes into the files of a job": () => assert.match(complete.log, /of the file/),
    "a pipeline is paused and resumed": () => {
      const states = (answers.get("PipelineOutput") ?? []).map(({ pipeline }) => (pipeline as Pipeline).status);
      assert.ok(states.includes("PAUSED") && states.includes("RUNNING"));
    },
    "pause_pipeline pauses the schedule's pipeline when true": async () => {
      const { pipeline } = await client.call(routes.triggerPipeline, { body: { datasets: ["long"], review: true } });
      const made = await client.call(routes.createSchedule, {
        body: { schedule_name: "paused", pipeline_name: pipeline.name, start_after: "2020-01-01" },
      });
      const id = made.schedule.id;
      let now = made.schedule;
      for (const deadline = Date.now() + 120_000; now.latest_run === null && Date.now() < deadline; )
        now = await client.call(routes.getSchedule, { query: { schedule_id: id } });
      const paused = await client.call(routes.updateSchedule, { body: { schedule_id: id, pause_pipeline: true } });
      assert.equal(paused.schedule.latest_run?.status, "PAUSED");
      await client.call(routes.cancelPipeline, { body: { name: now.latest_run?.name ?? "" } });
    },
    "one pipeline is created for all listed datasets combined": async () => {
      const pipeline = await trigger(["one", "two"], true);
      assert.equal(pipeline.total, 3, "what they share is run once");
    },
    "the jobs needed to rebuild the dependencies of all listed datasets are run": async () => {
      const pipeline = await waitForPipelineEnd(client, (await trigger(["one", "two"])).name);
      assert.deepEqual([pipeline.status, pipeline.completed, pipeline.total], ["COMPLETED", 3, 3]);
    },
    "a dataset may be fully qualified with its version": async () =>
      assert.deepEqual((await trigger(["@admin.default.base@1.0.0"], true)).datasets, ["@admin.default.base@1.0.0"]),
    "without a version the latest is used": async () =>
      assert.deepEqual((await trigger(["base"], true)).datasets, ["@admin.default.base@2.0.0"]),
    "triggered_from has the form namespace.project.dataset": async () => {
      for (const { triggered_from } of answers.get("Pipeline") ?? [])
        assert.match(String(triggered_from), /^@admin\.default\.[a-z]+$/);
    },
    "an item of the schedule list has neither latest_run nor pipeline": () => {
      for (const item of answers.get("PipelineScheduleItem") ?? [])
        assert.ok(!("latest_run" in item) && !("pipeline" in item));
    },
    "the list of pipelines takes an array of strings as its body": async () => {
      const listed = await client.call(routes.listPipelines, { query: { status: ["FAILED"] } });
      assert.ok(listed.some(({ name }) => name === failedPipeline.name));
      assert.ok(listed.every(({ status }) => status === "FAILED"));
      assert.deepEqual(
        await listByBody(["failed"]),
        listed.map(({ name }) => name),
      );
    },
    "the status of a pipeline is read in the scope of a team": async () => {
      const path = `/api/datachain/pipeline/status?name=${failedPipeline.name}`;
      assert.equal((await server.fetch(`${path}&team_name=main`)).status, 200);
      assert.equal((await server.fetch(`${path}&team_name=other`)).status, 403);
    },
    "a token comes from a command-line login": async () => {
      const login = await client.call(routes.startDeviceLogin, { body: {} });
      await client.call(routes.approveDeviceLogin, { body: { user_code: login.user_code } });
      const { access_token } = await client.call(routes.pollDeviceLogin, { body: { code: login.device_code } });
      assert.equal((await server.fetch("/api/datachain/jobs/", { token: access_token })).status, 200);
    },
    "a token comes from the tokens page of the web UI settings": async () => {
      const browser = new Visitor(server.url);
      await browser.get(`/auth/sign-in?link=${await createSignInLink(server.store, "admin", Date.now())}`);
      assert.match(await (await browser.get("/auth/account")).text(), /href="\/auth\/tokens"/);
      const page = await (await browser.post("/auth/tokens", { name: "<ci>", scopes: "JOB:read" })).text();
      const token = /isat_[\w-]{43}/.exec(page)?.[0] ?? "";
      assert.match(page, /&lt;ci&gt;/);
      assert.equal((await server.fetch("/api/datachain/jobs/", { token })).status, 200);
      const again = await (await browser.get("/auth/tokens")).text();
      assert.ok(!again.includes(token), "shown once");
      const id = /<strong>&lt;ci&gt;[\s\S]*?name="revoke" value="(\d+)"/.exec(again)?.[1] ?? "";
      await browser.post("/auth/tokens", { revoke: id });
      for (const odd of ["2147483648", "1.5", "1e999", "x"])
        assert.equal((await browser.post("/auth/tokens", { revoke: odd })).status, 404, odd);
      assert.equal((await server.fetch("/api/datachain/jobs/", { token })).status, 401);
      assert.equal((await new Visitor(server.url).get("/auth/tokens")).status, 401);
      assert.equal((await browser.post("/auth/tokens", { name: "", scopes: "" })).status, 422);
    },
    "a token is sent as Authorization: Bearer": async () => {
      const headers = { authorization: `Bearer ${await server.token()}` };
      assert.equal((await fetch(`${server.url}/api/datachain/jobs/`, { headers })).status, 200);
    },
    "tokens carry scopes with read and write access": async () => {
      const reader = await server.token({ scopes: ["JOB:read"] });
      const json = { query: "exit 0", query_type: "SHELL" };
      assert.equal((await server.fetch("/api/datachain/jobs/", { token: reader })).status, 200);
      assert.equal((await server.fetch("/api/datachain/jobs/", { token: reader, json })).status, 403);
      const writer = await server.token({ scopes: ["JOB:write"] });
      assert.equal((await server.fetch("/api/datachain/jobs/", { token: writer, json })).status, 200);
    },
    "the url of a job is a link to it in the web UI": async () => {
      const browser = new Visitor(server.url);
      await browser.get(`/auth/sign-in?link=${await createSignInLink(server.store, "admin", Date.now())}`);
      const page = await browser.get(complete.job.url.replace(server.url, ""));
      assert.ok(complete.job.url.endsWith(`/team/main/datasets/jobs/${complete.job.id}`));
      assert.deepEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
    },
    "a failed job says so in exit_code, error_message and error_stack": () => {
      assert.equal(failed.exit_code, 1);
      assert.ok(failed.error_message);
      assert.match(failed.error_stack ?? "", /ValueError: no/);
    },
    "a failed pipeline says so in error_message and error_stack": () => {
      assert.equal(failedPipeline.status, "FAILED");
      assert.ok(failedPipeline.error_message);
      assert.match(failedPipeline.error_stack ?? "", /ValueError: no/);
    },
    "paths carry no version segment, and the interface is labelled 1.0.0": async () => {
      const document = (await (await server.fetch("/api/openapi.json")).json()) as { info: Json; paths: Json };
      assert.equal(document.info["version"], "1.0.0");
      assert.ok(Object.keys(document.paths).every((path) => !/\/v\d/.test(path)));
    },
  };

  async function active(status: "RUNNING", look: (job: Job) => Promise<void>): Promise<void> {
    const job = await createJob(client, shell("echo begun; sleep 60"));
    await waitForStatus(client, job.id, [status]);
    for (const deadline = Date.now() + 120_000; Date.now() < deadline && (await readLog(client, job.id)) === ""; );
    await look(job);
    const { message } = await client.call(routes.cancelJob, { params: { job_id: job.id }, body: {} });
    assert.match(message, /cancel/);
    assert.equal((await waitForEnd(client, job.id)).status, "CANCELED");
  }

  /** Sends a GET with a body, which fetch does not support. */
  async function listByBody(statuses: string[]): Promise<string[]> {
    const { request } = await import("node:http");
    const token = await server.token();
    const sentBody = JSON.stringify(statuses);
    const headers = {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      "content-length": Buffer.byteLength(sentBody),
    };
    const text = await new Promise<string>((resolve, reject) => {
      const sent = request(`${server.url}/api/datachain/pipeline/list?team_name=main`, { headers }, (response) => {
        let body = "";
        response.on("data", (chunk) => {
          body += chunk;
        });
        response.on("end", () => resolve(body));
      });
      sent.on("error", reject).end(sentBody);
    });
    return (JSON.parse(text) as Pipeline[]).map(({ name }) => name);
  }

  describe("rules", () => {
    for (const rule of rules) it(rule, async () => void (await ruleProofs[rule]()));
  });
});
