/** What is too large is refused in the request: the error names the field, its size, the limit, and what to do. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { type Client, fieldLimits, type JobInput, processLimits, routes } from "@millrace/contract";
import { createJob, python, readLog, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset, originalJob, recordMade } from "@millrace/testing/millrace/lineage.ts";
import { keyLocation, openKeys } from "../../src/admin/keys/key-file.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { encryptEnvironment, encryptPipelineEnvironment } from "../../src/domain/secrets/encryption.ts";
import type { KeyRing } from "../../src/domain/secrets/key-ring.ts";
import { writeEnv } from "../../src/engines/local/preparation/plan.ts";
import { variablesRoom, whyNotGiven } from "../../src/engines/local/processes/process-room.ts";
import { getJob, insertJobs, type JobRow, rewriteJobs } from "../../src/store/queries/jobs/jobs.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

const { variable, params, requirementsLine } = processLimits;

describe("limits of a job", () => {
  let server: InProcessServer;
  let client: Client;
  let keys: KeyRing;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
    keys = await openKeys(keyLocation(readConfig({}, { MILLRACE_DATA_DIR: server.dataDir })), server.store, () => {});
  });
  after(() => server.dispose());

  const refusal = async (path: string, json: object): Promise<string> => {
    const response = await server.fetch(path, { json: { team_name: "main", ...json } });
    const { message } = (await response.json()) as { message: string };
    assert.equal(response.status, 422, message);
    return message;
  };
  const refusedJob = (input: JobInput) => refusal("/api/datachain/jobs/", input);

  it("the largest accepted variable and params reach the process", async () => {
    const value = "v".repeat(variable - "BIG=".length - 1);
    const script = 'import os\nprint(len(os.environ["BIG"]), len(os.environ["DATACHAIN_QUERY_PARAMS"]))';
    const largest = { p: "p".repeat(params - '{"p":""}'.length) };
    const { job, log } = await runJob(client, python(script, { environment: `BIG=${value}`, params: largest }));
    assert.equal(job.status, "COMPLETE", log);
    assert.equal(log, `${value.length} ${params}\n`);
  });

  it("the largest accepted set of variables reaches the process", async () => {
    const names = ["A", "B", "C", "D"];
    const set = {
      name: "large",
      values: Object.fromEntries(names.slice(0, 2).map((n) => [`CRED_${n}`, "c".repeat(130_000)])),
    };
    await client.call(routes.setTeamCredentials, { body: set });
    const environment = names
      .slice(0, 2)
      .map((name) => `${name}=${"é".repeat(64_000)}`)
      .join("\n");
    const largest = { p: "p".repeat(params - 8) };
    const input = python("print('ran')", { environment, params: largest, credentials_name: "large" });
    const { job, log } = await runJob(client, input);
    assert.deepEqual([job.status, log], ["COMPLETE", "ran\n"]);
  });

  const refused: [string, Partial<JobInput>, RegExp][] = [
    [
      "a query",
      { query: "q".repeat(fieldLimits.query + 1) },
      /^query: expected at most 1048576 characters, got 1048577\. Move data and modules into attached files or a repository\.$/,
    ],
    [
      "requirements",
      { requirements: "r".repeat(fieldLimits.requirements + 1) },
      /^requirements: expected at most 262144 characters, got 262145\. Attach a requirements file/,
    ],
    [
      "a line of requirements",
      { requirements: `a\n-r ${"x".repeat(requirementsLine)}` },
      /^requirements: expected at most 65536 bytes in a line, got 65539\. Attach/,
    ],
    [
      "params",
      { params: { p: "ü".repeat(params / 2) } },
      /^params: expected at most 130000 bytes as JSON \(they are passed in an environment variable\), got 130008\. Attach/,
    ],
    [
      "a variable",
      { environment: `SMALL=1\nBIG="${"b".repeat(variable)}"` },
      /^environment: expected at most 131072 bytes for BIG including its name \(the limit of the operating system\), got 131077\. Attach/,
    ],
    [
      "a variable of characters with several bytes",
      { environment: `BIG=${"\u20ac".repeat(variable / 3)}` },
      /for BIG including its name.*, got 131075/,
    ],
    [
      "all variables together",
      {
        environment: [1, 2, 3, 4, 5, 6].map((n) => `V${n}=${"\u20ac".repeat(40_000)}`).join("\n"),
      },
      /^environment: expected at most 524288 bytes for all variables together, got 720072\. Attach/,
    ],
    [
      "the number of variables",
      { environment: Array.from({ length: 1001 }, (_, index) => `V${index}=1`).join("\n") },
      /^environment: expected at most 1000 variables$/,
    ],
    [
      "a name of a variable",
      { environment: `${"N".repeat(300)}=1` },
      /^environment: expected variable names of at most 255/,
    ],
    ["a name", { query_name: "n".repeat(256) }, /^query_name: expected at most 255 characters, got 256$/],
    ["tags", { tags: Array(21).fill("t") }, /^tags: expected at most 20 items, got 21$/],
    [
      "files",
      { files: Array(1001).fill(1) },
      /^files: expected at most 1000 items, got 1001\. Attach an archive instead\.$/,
    ],
  ];
  for (const [what, input, expected] of refused)
    it(`${what} over its limit is refused with its size, the limit and what to do`, async () => {
      assert.match(await refusedJob(shell(":", input)), expected);
    });

  it("requirements with an invisible line end are refused, wherever they come from", async () => {
    const unseen = ["\v", "\f", "\x1b", "\x1c", "\x1d", "\x1e", "\x7f", "\x85", "\u2028", "\u2029"];
    for (const end of unseen) {
      const code = end.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0");
      const expected = `requirements: expected text without control characters, got U+${code} in line 2. Remove it; only tabs and line breaks are allowed.`;
      const requirements = `numpy\n# pinned${end}-r /tmp/list.txt`;
      assert.equal(await refusedJob(shell(":", { requirements })), expected);
      const escaped = `\\u${code.padStart(4, "0")}`;
      const metadata = `# /// script\n# dependencies = ["numpy", "# pinned${escaped}-r /tmp/list.txt"]\n# ///\n`;
      assert.equal(await refusedJob(python(metadata)), expected);
    }
    const taken = { requirements: "# a\tb\r\n# c", start_after: "2100-01-01T00:00:00Z" };
    assert.ok((await createJob(client, shell(":", taken))).id);
  });

  it("script metadata in the query is not parsed beyond its limit", async () => {
    const script = `# /// script\n${"# [[a]]\n".repeat(20_000)}# ///\n`;
    assert.match(
      await refusedJob(python(script)),
      /^query: expected script metadata \(# \/\/\/ script\) with at most 65536 characters, got 119999/,
    );
  });

  it("credentials have the same limits, and no value is repeated", async () => {
    const set = (body: object) => refusal("/api/datachain/credentials/team", { name: "bad", ...body });
    const large = "s".repeat(variable - 1);
    assert.match(
      await set({ values: { A: large } }),
      /^values: expected at most 131072 bytes for A including its name/,
    );
    assert.match(
      await set({ dotenv: `A=${large}` }),
      /^dotenv: expected at most 131072 bytes for A including its name/,
    );
    const many = Object.fromEntries(["A", "B", "C"].map((name) => [name, "é".repeat(50_000)]));
    assert.match(
      await set({ values: many }),
      /^values: expected at most 262144 bytes of names and values together, got 300003\. Divide/,
    );
  });

  it("settings of a pipeline are refused if a process could not get all variables of its runs", async () => {
    await makeDataset({ store: server.store, client }, "seed", ":");
    const pipeline = await client.call(routes.triggerPipeline, { body: { datasets: ["seed"], review: true } });
    const { pipeline_id } = pipeline.pipeline;
    const names = [...Array(6).keys()].map((n) => `many-${n}`);
    for (const [index, name] of names.entries()) {
      const values = Object.fromEntries(["A", "B"].map((n) => [`${n}${index}`, "c".repeat(120_000)]));
      await client.call(routes.setTeamCredentials, { body: { name, values } });
    }
    const settings = (json: object) => refusal("/api/datachain/pipeline/settings", { pipeline_id, ...json });
    assert.match(
      await settings({ credentials_names: names }),
      /^environment and credentials_names: expected at most 1048576 bytes for all variables together, got/,
    );
    assert.match(await settings({ environment: `A=${"a".repeat(variable)}` }), /bytes for A including its name/);
    assert.match(await settings({ requirements: "r".repeat(70_000) }), /bytes in a line/);
    const changed = { pipeline_id, credentials_names: names.slice(0, 4) };
    assert.equal((await client.call(routes.updatePipelineSettings, { body: changed })).ok, true);
  });

  /** Names of datasets, each registered for its own job; all jobs are alike. */
  async function madeByCopies(
    name: string,
    query: string,
    count: number,
    rest: Partial<JobRow> = {},
  ): Promise<string[]> {
    const original = await originalJob(client, shell(query));
    const row = (await getJob(server.store.db, original.id)) as JobRow;
    const names = [...Array(count).keys()].map((n) => `${name}-${n}`);
    const copies = names
      .map(() => newJobId(Date.now()))
      .map((id) => ({
        ...row,
        ...rest,
        id,
        spec: JSON.stringify({ ...JSON.parse(row.spec), id }),
      }));
    await server.store.write((db) => insertJobs(db, copies));
    for (const [index, { id }] of copies.entries()) await recordMade(server.store, id, names[index] ?? "");
    return names;
  }

  it("a pipeline whose runs would have too much text together is refused, at the trigger and in its settings", async () => {
    const variables = await madeByCopies("variables", ":", 9, { environment: "v".repeat(1_048_576) });
    assert.match(
      await refusal("/api/datachain/pipeline/trigger", { datasets: variables, review: true }),
      /^datasets: the 9 jobs .* have more than 8388608 bytes of settings and variables together/,
    );
    const small = await madeByCopies("small", ":", 40);
    const { pipeline } = await client.call(routes.triggerPipeline, { body: { datasets: small, review: true } });
    const { pipeline_id } = pipeline;
    const large = {
      requirements: "# r\n".repeat(65_000),
      environment: `A=${"a".repeat(120_000)}\nB=${"b".repeat(120_000)}`,
    };
    assert.match(
      await refusal("/api/datachain/pipeline/settings", { pipeline_id, ...large }),
      /^requirements and environment: expected at most 8388608 bytes .* all 40 runs/,
    );
  });

  describe("from before the limits existed", () => {
    const overlong = `BIG=${"b".repeat(262_000)}`;

    /** A task that could not be created today. */
    async function old(environment: string, rest: object): Promise<string> {
      const { id } = await createJob(client, python("print('ran')", { start_after: "2040-01-01T00:00:00Z" }));
      const row = await getJob(server.store.db, id);
      await server.store.write(async (db) => {
        const spec = JSON.stringify({ ...JSON.parse(row?.spec ?? ""), ...rest });
        const encrypted = await encryptEnvironment(db, keys, id, environment);
        await rewriteJobs(db, [{ id, spec, environment: encrypted }], ["TASK"]);
      });
      return id;
    }

    const fire = (id: string) =>
      server.store.write((db) =>
        db.updateTable("tasks").set({ next_run: "2020-01-01T00:00:00.000Z" }).where("job_id", "=", id).execute(),
      );

    const cases: [string, string, object, RegExp][] = [
      [
        "a variable",
        overlong,
        {},
        /could not start: its environment variable BIG has 262005 bytes \(name and value\).*131072/,
      ],
      [
        "params",
        "",
        { params: { p: "p".repeat(15_000_000) } },
        /its environment variable DATACHAIN_QUERY_PARAMS has 15000\d+ bytes/,
      ],
      [
        "variables together",
        [...Array(12).keys()].map((n) => `V${n}=${"x".repeat(120_000)}`).join("\n"),
        {},
        /variables, with those of its credentials, have \d+ bytes together/,
      ],
    ];
    for (const [what, environment, rest, expected] of cases)
      it(`${what} too large for a process: the job can be read and listed, and fails with the reason, not with exit code 126`, async () => {
        const id = await old(environment, rest);
        const [whole] = await client.call(routes.listJobs, { query: { job_id: id } });
        assert.equal(whole?.id, id);
        assert.ok((await client.call(routes.listJobs, { query: {} })).some((job) => job.id === id));
        await fire(id);
        const children = async () => client.call(routes.listJobs, { query: { parent_job_id: id } });
        for (let tries = 0; (await children()).length === 0 && tries < 500; tries++)
          await new Promise((resolve) => setTimeout(resolve, 20));
        const [child] = await children();
        const job = await waitForEnd(client, child?.id ?? "");
        assert.deepEqual([job.status, job.exit_code], ["FAILED", null]);
        assert.match(job.error_message ?? "", expected);
        assert.match(await readLog(client, job.id), expected);
      });

    it("a pipeline of such a job can be triggered, read and listed, and its run fails with the reason", async () => {
      const id = await old(overlong, { requirements: null });
      await recordMade(server.store, id, "overlong");
      const { pipeline } = await client.call(routes.triggerPipeline, {
        body: { datasets: ["overlong"], review: true },
      });
      const { pipeline_id } = pipeline;
      await client.call(routes.updatePipelineSettings, { body: { pipeline_id, workers: 1 } });
      await server.store.write(async (db) => {
        const environment = await encryptPipelineEnvironment(db, keys, pipeline_id, overlong);
        await db.updateTable("pipelines").set({ environment }).where("id", "=", pipeline_id).execute();
      });
      const [listed] = await client.call(routes.listPipelines, { query: {} });
      assert.deepEqual(listed?.cut, ["environment_variables"]);
      const whole = await client.call(routes.getPipeline, { query: { pipeline_id } });
      assert.equal(whole.environment_variables["BIG"]?.length, 262_000);
      await client.call(routes.resumePipeline, { body: { pipeline_id } });
      const run = await waitForEnd(client, whole.job_runs[0]?.created_job_id ?? "");
      assert.match(run.error_message ?? "", /its environment variable BIG has/);
    });
  });
});

describe("variables as a shell reads them", () => {
  const script = `${writeEnv({ A: "1", UID: "5", PPID: "6", SHELLOPTS: "x", B: "2" })}echo "$A $B"`;
  const noBash = existsSync("/bin/bash") ? false : "needs Bash";
  it("do not end a shell if they have names that Bash reserves", { skip: noBash }, () => {
    assert.equal(execFileSync("/bin/sh", ["-c", script], { encoding: "utf8" }), "1 2\n");
    assert.equal(execFileSync("/bin/bash", ["--posix", "-c", script], { encoding: "utf8" }), "1 2\n");
  });
});

describe("the maximum size of variables", () => {
  const limits = (stack: string) =>
    `Limit\nMax stack size             ${stack}              unlimited            bytes\n`;
  it("follows the stack limit, of which the kernel allows a quarter", () => {
    assert.equal(variablesRoom(limits("8388608")), processLimits.variables + 64 * 1024);
    assert.equal(variablesRoom(limits("unlimited")), processLimits.variables + 64 * 1024);
    assert.equal(variablesRoom(limits("4194304")), 512 * 1024);
    assert.equal(variablesRoom(limits("65536")), 64 * 1024);
  });
  it("is described for the job's owner, with the largest variables", () => {
    assert.equal(whyNotGiven({ A: "1" }, 1000), undefined);
    const why = whyNotGiven({ A: "a".repeat(600), B: "b".repeat(700), C: "c" }, 1000);
    assert.match(why ?? "", /have 1334 bytes together, and the limit is 1000\. The largest are B \(703\), A/);
  });
});
