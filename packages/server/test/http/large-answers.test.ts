/** Answers are bounded in bytes, whatever is in the store, and clients get the rest page by page. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, it, type TestContext } from "node:test";
import {
  answerLimits,
  type Client,
  fieldLimits,
  type Job,
  type Pipeline,
  processLimits,
  routes,
} from "@millrace/contract";
import { createJob, python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { makeDataset } from "@millrace/testing/millrace/lineage.ts";
import type { KyselyPlugin } from "kysely";
import { audit, operator } from "../../src/domain/access/audit.ts";
import { showDataset } from "../../src/domain/datasets/datasets.ts";
import type { JobsContext } from "../../src/domain/jobs/jobs.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { readPipelines } from "../../src/domain/pipelines/pipelines.ts";
import { getJob, insertJobs, type JobRow } from "../../src/store/queries/jobs/jobs.ts";
import { BoundedList } from "../../src/turns/bounded-list.ts";
import { answering, nextStretch, stretchBytes } from "../../src/turns/large-answers.ts";
import { countStore } from "../support/counted-reads.ts";
import { putVersion } from "../support/datasets.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

const later = "2040-01-01T00:00:00Z";
const count = 200;

describe("answers", () => {
  let server: InProcessServer;
  let client: Client;
  /** A job as large as a request can make it. */
  let largest: Job;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
    largest = await createJob(client, {
      ...python("q".repeat(fieldLimits.query)),
      query_name: "largest",
      start_after: later,
      requirements: `${"r".repeat(60_000)}\n`.repeat(4),
      params: { p: "p".repeat(processLimits.params - 8) },
      environment: `A=${"a".repeat(120_000)}\nB=${"b".repeat(120_000)}`,
    });
    await copies(largest.id, {});
  });
  after(() => server.dispose());

  /** Inserts copies of the same job directly into the store. */
  async function copies(id: string, changes: Partial<JobRow>): Promise<void> {
    const row = (await getJob(server.store.db, id)) as JobRow;
    for (let index = 1; index < count; index++) {
      const copy = newJobId(Date.now());
      const spec = JSON.stringify({ ...JSON.parse(row.spec), id: copy });
      const job = { ...row, status: "COMPLETE" as const, environment: "", ...changes, id: copy, spec };
      await server.store.write((db) => insertJobs(db, [job]));
    }
  }

  const list = async (query: string) => {
    const response = await server.fetch(`/api/datachain/jobs/?team_name=main${query}`);
    const text = await response.text();
    assert.equal(response.status, 200, text.slice(0, 200));
    return {
      jobs: JSON.parse(text) as Job[],
      bytes: Buffer.byteLength(text),
      next: response.headers.get("x-next-cursor"),
    };
  };

  it("with the default list of 200 of the largest jobs have less than a megabyte, and each job names its shortened fields", async () => {
    const { jobs, bytes } = await list("");
    assert.equal(jobs.length, 20);
    assert.ok(bytes < 1024 * 1024, `${bytes} bytes`);
    for (const { cut, query, requirements, params } of jobs) {
      assert.deepEqual(cut, ["query", "requirements", "params"]);
      assert.deepEqual([query.length, requirements?.length, params], [answerLimits.listed, answerLimits.listed, {}]);
    }
  });

  it("with one job contain everything and no `cut`", async () => {
    const { jobs } = await list(`&job_id=${largest.id}`);
    const [job] = jobs;
    assert.deepEqual(job, largest);
    assert.equal(job?.query.length, fieldLimits.query);
    assert.equal(job?.environment["A"]?.length, 120_000);
    assert.equal(job?.cut, undefined);
    const [listed] = (await list("&name=largest&status=TASK")).jobs;
    assert.deepEqual(listed?.cut, ["query", "requirements", "params", "environment"]);
    assert.deepEqual(listed?.environment, {});
  });

  it("with short fields contain them completely, without `cut`", async () => {
    const job = await createJob(
      client,
      shell("#".repeat(answerLimits.listed), { params: { a: 1 }, start_after: later }),
    );
    const [listed] = (await list("&limit=1")).jobs;
    assert.deepEqual(listed, job);
  });

  it("end at 16 MiB with a cursor: following it returns every job once", async () => {
    // Characters that JSON escapes to six bytes each make the largest list.
    const controls = "\u0001".repeat(answerLimits.listed);
    const heavy = { query_name: "heavy", requirements: "#".repeat(answerLimits.listed), start_after: later };
    const { id } = await createJob(client, shell(controls, heavy));
    await copies(id, { error_message: controls, error_stack: controls });
    const seen: string[] = [];
    let pages = 0;
    for (let cursor = ""; ; pages++) {
      const page = await list(`&name=heavy&limit=1000${cursor}`);
      assert.ok(page.bytes <= answerLimits.bytes + 2, `${page.bytes} bytes`);
      seen.push(...page.jobs.map((job) => job.id));
      if (page.next === null) break;
      cursor = `&cursor=${page.next}`;
    }
    assert.ok(pages > 0, "one answer does not hold them");
    assert.deepEqual([seen.length, new Set(seen).size], [count, count]);
  });

  it("contain only the beginning of a very long error, and of an audit row about very many targets", async () => {
    const { job } = await runJob(client, python("raise ValueError('x' * 50_000)"));
    assert.equal(job.error_message, `ValueError: ${"x".repeat(50_000)}`.slice(0, 4096));
    assert.ok((job.error_stack?.length ?? 0) > 50_000);
    const change = {
      action: "dataset.remove",
      team: { id: 1 },
      target: "t".repeat(10_000),
      detail: "d".repeat(1_000_000),
    };
    await server.store.write((db) => audit(db, operator, change, Date.now()));
    const [entry] = await client.call(routes.listAudit, { query: { action: "dataset.remove" } });
    assert.deepEqual([entry?.target.length, entry?.detail.length], [2048, 4096]);
  });

  it("with pipelines are shortened and paged in the same way, and a single pipeline is complete", async () => {
    await makeDataset({ store: server.store, client }, "seed", ":");
    const body = { datasets: ["seed"], review: true };
    for (let index = 0; index < 3; index++) await client.call(routes.triggerPipeline, { body });
    const [newest] = await client.call(routes.listPipelines, { query: {} });
    const settings = {
      pipeline_id: newest?.pipeline_id ?? "",
      python_version: "3.12",
      requirements: "# r\n".repeat(50_000),
      environment: `A=${"a".repeat(100_000)}`,
    };
    await client.call(routes.updatePipelineSettings, { body: settings });
    const [listed] = await client.call(routes.listPipelines, { query: {} });
    assert.deepEqual(listed?.cut, ["requirements", "environment_variables"]);
    assert.deepEqual([listed?.requirements, listed?.environment_variables, listed?.python_version], [null, {}, "3.12"]);
    const whole = await client.call(routes.getPipeline, { query: { pipeline_id: settings.pipeline_id } });
    assert.deepEqual([whole.requirements, whole.cut], [settings.requirements.trim(), undefined]);
    const page = (cursor: string) => server.fetch(`/api/datachain/pipeline/list?team_name=main&limit=2${cursor}`);
    const first = await page("");
    const names = ((await first.json()) as Pipeline[]).map(({ name }) => name);
    const second = await page(`&cursor=${first.headers.get("x-next-cursor")}`);
    names.push(...((await second.json()) as Pipeline[]).map(({ name }) => name));
    assert.equal(new Set(names).size, 3);
    assert.equal(second.headers.get("x-next-cursor"), null);
  });

  it("with pipelines start in a queued turn: no runs are read for a caller that has disconnected", async () => {
    const counted = countStore(server.store);
    const context = { store: counted.store, publicUrl: () => "" } as JobsContext;
    const team = { id: 1, name: "main", role: "admin" } as const;
    const gone = { caller: 1, hasGone: () => true };
    await assert.rejects(
      answering(gone, () => readPipelines(context, team, {})),
      /has closed the connection/,
    );
    assert.equal(counted.statements(), 1, "the pipelines alone");
  });

  it("with datasets are shortened and paged in the same way", async () => {
    for (const name of ["one", "two", "three"]) await makeDataset({ store: server.store, client }, name, ":");
    const description = "d".repeat(20_000);
    await client.call(routes.editDataset, { body: { name: "one", description } });
    const all = await client.call(routes.listDatasets, { query: {} });
    const cut = all.find(({ name }) => name === "one");
    assert.deepEqual([cut?.description?.length, cut?.cut], [answerLimits.listed, ["description"]]);
    assert.equal((await client.call(routes.getDataset, { query: { name: "one" } })).description, description);
    const names: string[] = [];
    for (let cursor = ""; ; ) {
      const response = await server.fetch(`/api/datachain/datasets?team_name=main&limit=1${cursor}`);
      names.push(...((await response.json()) as { name: string }[]).map(({ name }) => name));
      const next = response.headers.get("x-next-cursor");
      if (next === null) break;
      cursor = `&cursor=${next}`;
    }
    assert.deepEqual(
      names,
      all.map(({ name }) => name),
    );
    // Cursors of another team or of no dataset are refused alike: otherwise an answer would reveal names.
    const unknown = await server.fetch("/api/datachain/datasets?team_name=main&cursor=999999");
    assert.equal(unknown.status, 422);
    await client.call(routes.createTeam, { body: { name: "others" } });
    const own = (await client.call(routes.listDatasets, { query: { limit: 1 } }))[0]?.id;
    const foreign = await server.fetch(`/api/datachain/datasets?team_name=others&cursor=${own}`);
    assert.equal(foreign.status, 422);
  });
});

describe("large answers that are requested at once", () => {
  const asked = 10;
  let server: InProcessServer;
  before(async () => {
    server = await startInProcess();
  });
  after(() => server.dispose());

  /** Counts bytes, and the most of them between two rounds of the event loop. */
  function countRounds(t: TestContext) {
    const count = { bytes: 0, round: 0, largest: 0 };
    let looking = setImmediate(function look() {
      count.largest = Math.max(count.largest, count.round);
      count.round = 0;
      looking = setImmediate(look);
    });
    t.after(() => clearImmediate(looking));
    const add = (bytes: number) => {
      count.bytes += bytes;
      count.round += bytes;
    };
    return { count, add };
  }

  it("are built in chunks, one chunk of all of them per round of the event loop", async (t) => {
    const client = await server.client();
    const schema = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, "t".repeat(2400)]));
    const versions = 20;
    for (let patch = 0; patch < versions; patch++)
      await client.call(routes.registerVersion, { body: { name: "big.p.d", version: `1.0.${patch}`, schema } });
    const { count, add } = countRounds(t);
    const { parse } = JSON;
    // Every schema is parsed to check that it is JSON.
    t.mock.method(JSON, "parse", (text: string) => {
      add(text.length);
      return parse(text);
    });
    const ask = () => server.fetch("/api/datachain/datasets/info?team_name=main&name=big.p.d");
    const texts = await Promise.all(Array.from({ length: asked }, async () => (await ask()).text()));
    assert.equal(new Set(texts).size, 1);
    const answer = parse(texts[0] ?? "") as { schema: object; versions: { schema: object }[] };
    assert.equal(answer.versions.length, versions);
    for (const shown of [answer, ...answer.versions]) assert.deepEqual(shown.schema, schema);
    assert.ok(count.bytes >= asked * versions * 240_000, `${count.bytes} bytes were read`);
    assert.ok(count.largest <= 2 * stretchBytes, `${count.largest} bytes in one round`);
  });

  it("of a dataset with many versions hold the rows of few requests at a time", async () => {
    const uuid = await putVersion(server.store, "many");
    await server.store.write(async (db) => {
      const { id: _, ...row } = await db
        .selectFrom("dataset_versions")
        .selectAll()
        .where("uuid", "=", uuid)
        .executeTakeFirstOrThrow();
      for (let patch = 1; patch <= 600; patch++)
        await db
          .insertInto("dataset_versions")
          .values({ ...row, patch, version: `1.0.${patch}`, uuid: randomUUID() })
          .execute();
    });
    let [holding, most] = [0, 0];
    const plugin: KyselyPlugin = {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (result.rows.length > 500 && "schema_bytes" in (result.rows[0] ?? {})) most = Math.max(most, ++holding);
        return result;
      },
    };
    const db = server.store.db.withPlugin(plugin);
    const reference = { namespace: "@admin", project: "default", name: "many", version: undefined };
    const team = { id: 1, name: "main", role: "viewer" } as const;
    const ask = () =>
      answering({ caller: "one", hasGone: () => false }, async () => {
        const text = await showDataset(db, team, reference, false);
        holding--;
        return text.length;
      });
    const lengths = await Promise.all(Array.from({ length: 30 }, ask));
    assert.equal(new Set(lengths).size, 1);
    assert.ok(most >= 1 && most <= 2, `rows of ${most} requests at a time`);
  });

  it("that are lists of many entries are built in turns, whatever they list", async (t) => {
    const change = { action: "user.update", target: "someone", detail: "" } as const;
    await server.store.write(async (db) => {
      for (let row = 0; row < 300; row++) await audit(db, operator, change, Date.now());
    });
    let [inRound, most, all] = [0, 0, 0];
    const { stringify } = JSON;
    t.mock.method(JSON, "stringify", (...words: Parameters<typeof stringify>) => {
      const [value] = words as [unknown];
      if (Array.isArray(value) && value.length > 250) {
        most = Math.max(most, ++inRound);
        all++;
        setImmediate(() => {
          inRound = 0;
        });
      }
      return stringify(...words);
    });
    await Promise.all(
      Array.from({ length: 40 }, async () => {
        const response = await server.fetch("/api/audit?limit=300");
        assert.equal(response.status, 200);
        await response.arrayBuffer();
      }),
    );
    assert.equal(all, 40);
    assert.ok(most <= 2, `${most} answers in one round of the event loop`);
  });

  it("that are lists and searches of little do not wait for the large answers of others", async () => {
    const ends: (() => void)[] = [];
    // Two of each of four teams take all slots.
    const slow = [1001, 1002, 1003, 1004].flatMap((team) => [hold(team, 1, ends), hold(team, 2, ends)]);
    for (const path of ["jobs/", "datasets?search=nothing", "pipeline/schedules", "tasks"]) {
      const response = await server.fetch(`/api/datachain/${path}`, { signal: AbortSignal.timeout(60_000) });
      assert.equal(response.status, 200, path);
      await response.arrayBuffer();
    }
    for (const end of ends) end();
    await Promise.all(slow);
  });

  it("that are lists are built in chunks, too, once they have started", async (t) => {
    const { count, add } = countRounds(t);
    const text = "x".repeat(64 * 1024);
    const build = async () => {
      const list = new BoundedList();
      while (await list.add(text)) add(text.length);
      return list.length;
    };
    const built = Array.from({ length: asked }, build);
    await new Promise(setImmediate);
    assert.ok(count.bytes <= asked * 2 * stretchBytes, `${count.bytes} bytes in the first round`);
    count.largest = 0;
    assert.deepEqual(new Set(await Promise.all(built)), new Set([255]));
    assert.ok(count.largest <= 2 * stretchBytes, `${count.largest} bytes in one round`);
  });
});

/** A large answer that is not built until the function that it adds to `ends` is called. */
const hold = (team: number, caller: number, ends: (() => void)[]) =>
  answering({ team, caller, hasGone: () => false }, async () => {
    await nextStretch();
    await new Promise<void>((end) => ends.push(end));
  });

describe("chunks of large answers", () => {
  it("of one team leave slots for those of another, however many of its members ask", async () => {
    const ends: (() => void)[] = [];
    const many = [1, 2, 3, 4, 5].flatMap((caller) => [hold(1, caller, ends), hold(1, caller, ends)]);
    await answering({ team: 2, caller: 6, hasGone: () => false }, nextStretch);
    assert.equal(ends.length, 2);
    const end = setInterval(() => ends.pop()?.(), 1);
    await Promise.all(many);
    clearInterval(end);
  });

  it("are built one per round of the event loop, alternating between callers, and not for a disconnected caller", async () => {
    const built: string[] = [];
    let hasGone = false;
    let most = 0;
    let inRound = 0;
    const answer = (caller: string, gone = () => false) =>
      answering({ caller, hasGone: gone }, async () => {
        for (let stretch = 0; stretch < 3; stretch++) {
          await nextStretch();
          most = Math.max(most, ++inRound);
          setImmediate(() => (inRound = 0));
          built.push(caller);
        }
      });
    const many = Array.from({ length: 20 }, () => answer("many"));
    const leaves = Array.from({ length: 20 }, () => answer("leaves", () => hasGone));
    const one = answer("one").then(() => built.length);
    await leaves[0];
    hasGone = true;
    await Promise.allSettled([...many, ...leaves]);
    assert.ok((await one) <= 40, `the only answer of a caller was ready after ${await one} stretches`);
    assert.ok(most <= 2, `${most} in a round`);
    assert.ok(built.filter((caller) => caller === "leaves").length < 60);
    assert.equal(built.filter((caller) => caller === "many").length, 60);
  });

  it("are in progress for few answers at a time, alternating between callers; the others wait before they take memory", async () => {
    let [underWay, most] = [0, 0];
    const done: string[] = [];
    const answer = (caller: string) =>
      answering({ caller, hasGone: () => false }, async () => {
        await nextStretch();
        most = Math.max(most, ++underWay);
        for (let stretch = 0; stretch < 5; stretch++) await nextStretch();
        underWay--;
        done.push(caller);
      });
    const many = Array.from({ length: 50 }, () => answer("many"));
    await answer("one");
    assert.ok(done.length <= 20, `the only answer of a caller was ready after ${done.length}`);
    await Promise.all(many);
    assert.equal(most, 3, "two of one caller, and one of the other");
    await assert.rejects(
      answering({ caller: "fails", hasGone: () => false }, async () => {
        await nextStretch();
        throw new Error("broken");
      }),
      /broken/,
    );
    await Promise.all(Array.from({ length: 20 }, () => answer("after")));
  });
});
