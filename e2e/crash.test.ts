/**
 * The crash test: jobs are queued, building and running while the server is repeatedly killed with -9, at random
 * moments and at fault points. Afterwards every acknowledged job has run exactly once, every log is byte-identical to
 * the job's output, and every status and exit code is right.
 *
 * Short form in the test suite; long form: CRASH_JOBS=300 CRASH_KILLS=20 npm test crash
 */
import assert from "node:assert/strict";
import { chmod, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Client, type Job, type JobInput, routes } from "@millrace/contract";
import { python, readJob, readLogBytes, shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";

const jobCount = Number(process.env["CRASH_JOBS"] ?? 60);
const killCount = Number(process.env["CRASH_KILLS"] ?? 8);

/**
 * Fault points at which the server kills itself, beside the random moments: each between two steps that must be atomic
 * together. The delays are longer than a restart, so that supervisors are late for a claim that the next server has
 * made.
 */
const faults = [
  "",
  "attempt-committed:3",
  "attempt-submitted:2",
  "claim-delay:2",
  "exit-observed:4",
  "result-committed:3",
  "job-committed:5",
  "claim-delay:2,attempt-submitted:4",
];

describe("a server killed with -9 loses nothing and doubles nothing", () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  it("on SQLite, at the strongest isolation", { timeout: 1_200_000 }, () => crashTest("auto"));
  it("on SQLite, without isolation", { timeout: 1_200_000 }, () => crashTest("none"));
  it("on PostgreSQL, at the strongest isolation", { timeout: 1_200_000 }, async () =>
    crashTest("auto", await postgres.createDatabase()),
  );
});

interface Planned {
  input: JobInput;
  exitCode: number;
  status: "COMPLETE" | "FAILED";
  /** The job's output, byte by byte, after the output of the environment build. */
  bytes: Buffer;
  builds: boolean;
}

async function crashTest(isolation: "auto" | "none", databaseUrl?: string): Promise<void> {
  const witness = await mkdtemp(join(tmpdir(), "millrace-witness-"));
  await chmod(witness, 0o777);
  const server = await TestServer.start({
    ...(databaseUrl ? { databaseUrl } : {}),
    env: {
      MILLRACE_MAX_WORKERS: "4",
      MILLRACE_LOG_LEVEL: "warn",
      MILLRACE_ISOLATION: isolation,
      MILLRACE_JOB_PATHS: `${witness}:rw`,
    },
  });
  try {
    const client = await server.client();
    const plans = [...Array(jobCount).keys()].map((index) => plan(index, witness));
    const killer = killAgainAndAgain(server);
    const ids = await submitAll(client, plans);
    await killer;
    await assertAll(client, plans, ids, witness);
    await assertNothingLeft(client, server);
  } finally {
    await server.dispose();
    await rm(witness, { recursive: true, force: true });
  }
}

/** Short and long, quiet and loud, successful and failing, shell and Python, some with an environment build. */
function plan(index: number, witness: string): Planned {
  const exitCode = index % 5 === 4 ? 1 + (index % 7) : 0;
  const ran = join(witness, `ran-${index}`);
  const builds = index % 15 === 5;
  const base = { exitCode, status: exitCode === 0 ? "COMPLETE" : "FAILED", builds } as const;
  const pause = ((index * 37) % 60) / 100;
  if (index % 5 === 0) {
    const query = `import os, sys, time\nopen(${JSON.stringify(ran)}, "a").write("once\\n")\nfor i in range(50):\n    print("line", i, ${index}, flush=True)\n    time.sleep(${pause / 50})\nsys.exit(${exitCode})\n`;
    const bytes = Buffer.from([...Array(50).keys()].map((i) => `line ${i} ${index}\n`).join(""));
    // An empty environment: built like any other, without a package index.
    const requirements = builds ? `# environment ${index % 3}` : null;
    return { ...base, input: python(query, { requirements }), bytes };
  }
  const line = `${"x".repeat(index * 13)}-${index}`;
  const query = `echo once >> '${ran}'\ni=0\nwhile [ $i -lt 200 ]; do echo "$i ${line}"; i=$((i+1)); done\nsleep ${pause}\nprintf 'tail\\377\\0%s' ${index}\nexit ${exitCode}\n`;
  const lines = [...Array(200).keys()].map((i) => `${i} ${line}\n`).join("");
  const bytes = Buffer.concat([Buffer.from(lines), Buffer.from("tail\xff\0", "latin1"), Buffer.from(String(index))]);
  return { ...base, input: shell(query), bytes };
}

/**
 * Acknowledged means that the creation was answered. Unanswered ones are repeated under the same key, as a client
 * would.
 */
async function submitAll(client: Client, plans: readonly Planned[]): Promise<string[]> {
  const ids: string[] = new Array(plans.length);
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < plans.length; index = next++) {
      const body = (plans[index] as Planned).input;
      const headers = { "idempotency-key": `crash-${index}` };
      ids[index] = (await persistently(() => client.call(routes.createJob, { body }, { headers }))).id;
      await sleep(20);
    }
  };
  await Promise.all([worker(), worker(), worker()]);
  return ids;
}

async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (const deadline = Date.now() + 120_000; ; ) {
    try {
      return await call();
    } catch (error) {
      const refused = error instanceof ApiError && error.status < 500;
      if (refused || Date.now() > deadline) throw error;
      await sleep(20);
    }
  }
}

async function killAgainAndAgain(server: TestServer): Promise<void> {
  for (let round = 0; round < killCount; round++) {
    // Killed by a fault point or by the test, whichever comes first; the other must not strike after the restart.
    const waiting = new AbortController();
    const delay = sleep(50 + Math.random() * 600, undefined, { signal: waiting.signal }).catch(() => {});
    await Promise.race([delay, server.ended()]);
    waiting.abort();
    await server.stop("SIGKILL");
    await startThroughFaults(server, faults[round % faults.length] ?? "");
  }
  await server.stop("SIGKILL");
  await server.start();
}

/** A fault may strike before the server is ready: then it is started again without. */
async function startThroughFaults(server: TestServer, fault: string): Promise<void> {
  try {
    await server.start({ MILLRACE_FAULT: fault });
  } catch {
    await server.start();
  }
}

async function assertAll(
  client: Client,
  plans: readonly Planned[],
  ids: readonly string[],
  witness: string,
): Promise<void> {
  assert.equal(new Set(ids).size, plans.length, "every job has an id of its own");
  for (const [index, expected] of plans.entries()) {
    const job = await ended(client, ids[index] as string);
    const name = `job ${index} (${job.error_message})`;
    assert.deepEqual([job.status, job.exit_code], [expected.status, expected.exitCode], name);
    const log = await readLogBytes(client, job.id);
    const written = expected.builds ? log.subarray(-expected.bytes.length) : log;
    assert.ok(written.equals(expected.bytes), `the log of ${name} is what it wrote`);
    assert.equal(await readFile(join(witness, `ran-${index}`), "utf8"), "once\n", `${name} ran once`);
  }
  assert.equal((await readdir(witness)).length, plans.length, "nothing ran that was not asked for");
}

async function ended(client: Client, id: string): Promise<Job> {
  for (const deadline = Date.now() + 300_000; ; await sleep(50)) {
    const job = await readJob(client, id);
    if (["COMPLETE", "FAILED", "CANCELED"].includes(job.status)) return job;
    if (Date.now() > deadline) throw new Error(`job ${id} is still ${job.status}`);
  }
}

async function assertNothingLeft(client: Client, server: TestServer): Promise<void> {
  const [cluster] = await client.call(routes.listClusters, { query: {} });
  assert.equal(cluster?.busy_workers, 0, "every slot came back");
  const jobs = await client.call(routes.listJobs, { query: { limit: 1000 } });
  assert.equal(jobs.length, jobCount, "no job more than were created");
  assert.doesNotMatch(server.output, /"level":50/, "the server logged no error");
}

describe("a machine restart", () => {
  it("turns running jobs into FAILED with a clear message and reruns none", async () => {
    const witness = await mkdtemp(join(tmpdir(), "millrace-witness-"));
    await chmod(witness, 0o777);
    const server = await TestServer.start({
      env: { MILLRACE_MAX_WORKERS: "1", MILLRACE_BOOT_ID: "first-boot", MILLRACE_JOB_PATHS: `${witness}:rw` },
    });
    try {
      const client = await server.client();
      const create = (query: string) => client.call(routes.createJob, { body: shell(query) });
      const running = await create(`echo once >> '${witness}/ran'; sleep 1000`);
      const waiting = await create("echo waited");
      while ((await readdir(witness)).length === 0) await sleep(10);
      await server.stop("SIGKILL");
      await server.start({ MILLRACE_BOOT_ID: "second-boot" });
      const lost = await ended(client, running.id);
      assert.equal(lost.status, "FAILED");
      assert.match(
        lost.error_message ?? "",
        /the machine restarted, or the process that supervises the job was killed.*not run again/,
      );
      assert.equal((await ended(client, waiting.id)).status, "COMPLETE");
      assert.equal(await readFile(join(witness, "ran"), "utf8"), "once\n");
    } finally {
      await server.dispose();
      await rm(witness, { recursive: true, force: true });
    }
  });
});

describe("two servers on one machine, each with its own data folder", () => {
  for (const isolation of ["auto", "uid"]) {
    const skip = isolation === "uid" && process.getuid?.() !== 0 && "needs root";
    it(`do not disturb each other, isolation ${isolation}`, { skip }, async () => {
      const env = { MILLRACE_ISOLATION: isolation, MILLRACE_MAX_WORKERS: "4" };
      const servers = [await TestServer.start({ env }), await TestServer.start({ env })];
      try {
        const clients = await Promise.all(servers.map((server) => server.client()));
        const query = "id -u; while [ -e job.sh ]; do sleep 0.05; done";
        const running = await Promise.all(
          clients.flatMap((client) =>
            [1, 2, 3].map(async () => ({
              client,
              id: (await client.call(routes.createJob, { body: shell(query) })).id,
            })),
          ),
        );
        const users: string[] = [];
        for (const { client, id } of running) {
          while ((await readLogBytes(client, id)).length === 0) await sleep(20);
          users.push((await readLogBytes(client, id)).toString().trim());
        }
        // If the server is root, every running job has its own user, whichever server runs it.
        if (process.getuid?.() === 0) assert.equal(new Set(users).size, running.length, users.join(" "));
        const [first, ...others] = running;
        await first?.client.call(routes.cancelJob, { params: { job_id: first.id }, body: {} });
        assert.equal((await ended(first?.client as Client, first?.id ?? "")).status, "CANCELED");
        await servers[0]?.restart();
        for (const { client, id } of others) assert.equal((await readJob(client, id)).status, "RUNNING");
      } finally {
        for (const server of servers) await server.dispose();
      }
    });
  }
});

describe("a second server", () => {
  it("on the same data folder refuses to start and says why", async () => {
    const server = await TestServer.start();
    try {
      const rival = TestServer.on(server.dataDir, 0);
      await assert.rejects(rival.start(), /Another Millrace server uses the data folder/);
    } finally {
      await server.dispose();
    }
  });
});
