/**
 * The server validates what it reads back from a team's warehouse and records it once, whatever a script wrote there.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { readCollected, TooMuch } from "../../src/domain/datasets/parse-collected.ts";
import { recordCollected } from "../../src/domain/datasets/record-collected.ts";
import { markRemoved } from "../../src/store/queries/datasets/dataset-versions.ts";
import { collect } from "../../src/warehouses/programs/collect.ts";
import { putVersion } from "../support/datasets.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

const now = "2030-01-01T00:00:00.000Z";
const found = (rest: Record<string, unknown> = {}) => ({
  ...{ namespace: "@admin", project: "default", name: "cats", version: "1.0.0", uuid: randomUUID() },
  ...{ feature_schema: "{}", schema: "{}", preview: "[]", created_at: "2030-01-01 00:00:00.000000" },
  ...{ num_objects: "3", size: "0", rows_table: "ds_cats", needs: [] },
  dataset: { uuid: randomUUID(), description: null, attrs: "[]" },
  ...rest,
});

/** Lines as the child process writes them: what the job did, then its versions. */
const linesOf = (head: unknown, versions: readonly unknown[] = []) =>
  [head, ...versions].map((line) => Buffer.from(JSON.stringify(line)));

describe("what is read back from a team's warehouse", () => {
  const read = async (version: Record<string, unknown>) => (await readCollected(linesOf({}, [version]))).versions[0];

  it("stores a preview with values that are not JSON, and numbers of any size, as text", async () => {
    const preview = '[{"a": NaN, "b": 9223372036854775807, "c": Infinity}]';
    assert.equal((await read(found({ preview })))?.preview, preview);
    assert.equal((await read(found({ preview: "[oops" })))?.preview, null);
    assert.equal(
      (await read(found({ preview: `["${"x".repeat(300_000)}"]` })))?.preview,
      null,
      "too large for every answer",
    );
  });

  it("stores metrics even if one of them is not a number", async () => {
    assert.equal(
      (await readCollected(linesOf({ metrics: '{"a": 0.5, "loss": NaN}' }))).metrics,
      '{"a": 0.5, "loss": null}',
    );
    assert.equal((await readCollected(linesOf({ metrics: "[1]" }))).metrics, null);
  });

  it("omits entries with an invalid name, number, time or uuid", async () => {
    for (const wrong of [
      { name: "" },
      { name: "喵".repeat(400) },
      { name: "a\0b" },
      { name: "\ud800" },
      { version: "1.0" },
      { version: "v1.0.0" },
      { uuid: "x" },
      { created_at: "yesterday" },
      { dataset: null },
    ])
      assert.equal(await read(found(wrong)), undefined, JSON.stringify(wrong));
    assert.deepEqual(
      (await read(found({ needs: [{ uri: "s3://b/".padEnd(2000, "x") }, { uri: "s3://b" }, {}] })))?.needs,
      [{ uri: "s3://b" }],
    );
  });

  it("is refused completely if it exceeds the limits of the registry", async () => {
    const needing = (count: number) => found({ needs: Array.from({ length: count }, () => ({ uuid: randomUUID() })) });
    const refused = (versions: readonly unknown[]) => assert.rejects(readCollected(linesOf({}, versions)), TooMuch);
    await refused(Array.from({ length: 2001 }, () => found()));
    const jobs = Array.from({ length: 2000 }, () => ({ uuid: randomUUID(), isCreator: true }));
    assert.equal((await readCollected(linesOf({ jobs }, []))).jobs.length, 2000);
    await assert.rejects(readCollected(linesOf({ jobs: [...jobs, ...jobs] }, [])), TooMuch);
    await refused([needing(1001)]);
    await refused(Array.from({ length: 21 }, () => needing(1000)));
    const nothing = { versions: [], jobs: [], removed: [], metrics: null };
    assert.deepEqual(await readCollected(linesOf("nonsense", ["more"])), nothing);
    for (const lines of [[], [Buffer.from("no JSON")], linesOf({ metrics: "x".repeat(17 * 1024 * 1024) })])
      await assert.rejects(readCollected(lines), TooMuch, "what the job did is not taken for nothing");
  });

  it("is parsed one version at a time, with a turn of the event loop between two", async () => {
    const documents = `{"a": [${"[],".repeat(80_000)}1]}`;
    const lines = linesOf(
      {},
      Array.from({ length: 8 }, () => found({ feature_schema: documents, schema: documents })),
    );
    let rounds = 0;
    const timer = setInterval(() => rounds++, 0);
    const { versions } = await readCollected(lines);
    clearInterval(timer);
    assert.equal(versions.length, lines.length - 1);
    assert.ok(rounds >= versions.length - 1, `it went round ${rounds} times for ${versions.length} versions`);
  });

  it("omits a version whose line is too long, without parsing it", async () => {
    const { versions } = await readCollected(linesOf({}, [found({ needs: "x".repeat(17 * 1024 * 1024) }), found()]));
    assert.equal(versions.length, 1);
  });
});

describe("the child that reads a team's warehouse", () => {
  const jobId = randomUUID();
  const request = { jobId, status: 5, finishedAt: "2030-01-01", startedAt: "2029-01-01", errorMessage: "" };
  const schema = `create table jobs (id text, status int, finished_at text, error_message text, metrics text);
    create table namespaces (id integer primary key, name text);
    create table projects (id integer primary key, name text, namespace_id int);
    create table datasets (id integer primary key, uuid text, project_id int, name text, description text, attrs text);
    create table datasets_versions (id integer primary key, uuid text, dataset_id int, version text, status int,
      created_at text, job_id text, removed_at text, script_output text);
    create table datasets_dependencies (source_dataset_version_id int, dataset_version_id int);
    insert into namespaces values (1, '@admin'); insert into projects values (1, 'default', 1);
    insert into datasets values (1, 'x', 1, 'cats', null, '[]')`;

  it("returns what a job created and removed, whatever else the job wrote there", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-collect-"));
    t.after(() => rm(folder, { recursive: true }));
    const metadata = join(folder, "metadata.db");
    const db = new DatabaseSync(metadata);
    db.exec(schema);
    const add = db.prepare("insert into datasets_versions values (?, ?, 1, ?, ?, '2030-01-01', ?, ?, ?)");
    add.run(1, "made", "1.0.0", 4, jobId, null, "x".repeat(9_000_000));
    add.run(2, "removed", "1.0.1", 4, null, "2029-06-01", "");
    db.prepare("insert into jobs values (?, 1, null, null, ?)").run(jobId, "x".repeat(9_000_000));
    for (let need = 0; need < 1500; need++) db.exec("insert into datasets_dependencies values (1, 2)");
    db.close();
    const { versions, jobs, removed, metrics } = collect({ metadata }, request);
    assert.deepEqual([jobs, removed, metrics], [[{ uuid: "made", isCreator: true }], ["removed"], null]);
    const made = versions.find(({ uuid }) => uuid === "made") as Record<string, unknown> & { needs: unknown[] };
    assert.deepEqual([made?.["script_output"], made?.needs.length], [null, 1001]);
  });
});

describe("the registry", () => {
  let server: InProcessServer;
  before(async () => {
    server = await startInProcess();
  });
  after(() => server.dispose());
  const record = async (...versions: Record<string, unknown>[]) => {
    const { metrics: _, ...collected } = await readCollected(linesOf({}, versions));
    return server.store.write((db) => recordCollected(db, randomUUID(), { ...collected, teamId: 1 }, now));
  };
  const rows = (name: string) =>
    server.store.db
      .selectFrom("dataset_versions")
      .innerJoin("datasets", "datasets.id", "dataset_versions.dataset_id")
      .select(["dataset_versions.uuid", "version", "status"])
      .where("datasets.name", "=", name)
      .execute();

  it("records one of two versions with the same uuid", async () => {
    const uuid = randomUUID();
    await record(found({ name: "twins", uuid }), found({ name: "twins", version: "1.0.1", uuid }));
    assert.deepEqual(await rows("twins"), [{ uuid, version: "1.0.0", status: 4 }]);
  });

  it("keeps a version removed that was read before it was removed", async () => {
    const version = found({ name: "gone" });
    await record(version);
    await server.store.write((db) => markRemoved(db, 1, [version.uuid], now));
    await record(version);
    assert.deepEqual(
      (await rows("gone")).map(({ status }) => status),
      [8],
    );
  });

  it("records the new version if the warehouse assigned a number again", async () => {
    await record(found({ name: "anew" }));
    const second = found({ name: "anew" });
    assert.deepEqual(await record(second), []);
    assert.deepEqual(await rows("anew"), [{ uuid: second.uuid, version: "1.0.0", status: 4 }]);
  });

  it("does not overwrite a number that an external producer registered, and says so", async () => {
    const uuid = await putVersion(server.store, "registered");
    assert.deepEqual(await record(found({ name: "registered" })), ["@admin.default.registered@1.0.0"]);
    assert.deepEqual(
      (await rows("registered")).map((row) => row.uuid),
      [uuid],
    );
  });
});
