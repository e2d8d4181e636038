/**
 * The crash test of retries: the server is repeatedly killed with -9, at random moments and at fault points, while jobs
 * fail and wait for their next attempts. Afterwards each job has had the right number of attempts, one after another,
 * and each attempt is shown with its own end and log.
 *
 * Short form in the test suite; long form: CRASH_JOBS=300 CRASH_KILLS=20 npm test crash
 */
import assert from "node:assert/strict";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Client, isIn, type Job, type JobInput, routes } from "@millrace/contract";
import { readJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";

const jobCount = Number(process.env["CRASH_JOBS"] ?? 24);
const killCount = Number(process.env["CRASH_KILLS"] ?? 8);

/** Fault points at which the server kills itself, beside the random moments. */
const faults = ["", "result-committed:2", "exit-observed:2", "attempt-committed:2", "", "attempt-submitted:1"];

describe("a server killed with -9 makes every retry, none twice and no two at once", () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  it("on SQLite", { timeout: 1_200_000 }, () => crashTest(""));
  it("on PostgreSQL", { timeout: 1_200_000 }, async () => crashTest(await postgres.createDatabase()));
});

interface Planned {
  readonly input: JobInput;
  /** How each attempt ends. */
  readonly codes: readonly number[];
}

/** One job that succeeds at once, one that succeeds at last, one that never does. */
function plan(index: number, witness: string): Planned {
  const codes = [[0], [3, 4, 0], [5, 6, 7]][index % 3] as number[];
  const [ran, lock] = [join(witness, `ran-${index}`), join(witness, `lock-${index}`)];
  const cases = codes.map((code, at) => `${at + 1}) exit ${code} ;;`).join(" ");
  const query = `mkdir '${lock}' || echo at-once >> '${ran}'; echo x >> '${ran}'; chmod 666 '${ran}'; n=$(wc -l < '${ran}')
echo "attempt $n"; sleep 0.${index % 7}; rmdir '${lock}'; case $n in ${cases} *) exit 99 ;; esac`;
  return { input: shell(query, { retries: 2, retry_delay: index % 2 }), codes };
}

async function crashTest(databaseUrl: string): Promise<void> {
  const witness = await mkdtemp(join(tmpdir(), "millrace-witness-"));
  await chmod(witness, 0o777);
  const server = await TestServer.start({
    ...(databaseUrl ? { databaseUrl } : {}),
    env: {
      MILLRACE_MAX_WORKERS: "4",
      MILLRACE_LOG_LEVEL: "warn",
      // Every attempt writes into files of the previous one.
      MILLRACE_ISOLATION: "none",
    },
  });
  try {
    const client = await server.client();
    const plans = [...Array(jobCount).keys()].map((index) => plan(index, witness));
    const jobs: Job[] = [];
    for (const { input } of plans) jobs.push(await client.call(routes.createJob, { body: input }));
    await killAgainAndAgain(server);
    for (const [index, { codes }] of plans.entries()) {
      const job = await ended(client, jobs[index]?.id ?? "");
      const name = `job ${index}: ${job.error_message}`;
      assert.equal(await readFile(join(witness, `ran-${index}`), "utf8"), "x\n".repeat(codes.length), name);
      assert.equal(job.status, codes.at(-1) === 0 ? "COMPLETE" : "FAILED", name);
      await assertAttempts(client, job, codes);
    }
    assert.doesNotMatch(server.output, /"level":50/, "the server logged no error");
  } finally {
    await server.dispose();
    await rm(witness, { recursive: true, force: true });
  }
}

async function assertAttempts(client: Client, { id }: Job, codes: readonly number[]): Promise<void> {
  const { attempts } = await client.call(routes.getJobAttempts, { params: { job_id: id }, query: {} });
  assert.deepEqual(
    attempts.map(({ exit_code }) => exit_code),
    codes,
  );
  for (const { number } of attempts) {
    const query = { attempt: number, format: "text" } as const;
    const log = await client.request(routes.getJobLogs, { params: { job_id: id }, query });
    assert.equal(await log.text(), `attempt ${number}\n`);
  }
}

async function killAgainAndAgain(server: TestServer): Promise<void> {
  for (let round = 0; round < killCount; round++) {
    const waiting = new AbortController();
    const delay = sleep(50 + Math.random() * 600, undefined, { signal: waiting.signal }).catch(() => {});
    await Promise.race([delay, server.ended()]);
    waiting.abort();
    await server.stop("SIGKILL");
    // A fault may strike before the server is ready: then it is started again without.
    await server.start({ MILLRACE_FAULT: faults[round % faults.length] ?? "" }).catch(() => server.start());
  }
  await server.stop("SIGKILL");
  await server.start();
}

async function ended(client: Client, id: string): Promise<Job> {
  for (const deadline = Date.now() + 300_000; ; await sleep(50)) {
    const job = await readJob(client, id).catch((error: unknown) => {
      if (error instanceof ApiError && error.status < 500) throw error;
      return undefined;
    });
    if (job && isIn("final", job.status)) return job;
    if (Date.now() > deadline) throw new Error(`job ${id} is still ${job?.status}`);
  }
}

describe("a server that was killed with -9 and is started again", () => {
  let server: TestServer;
  let client: Client;
  before(async () => {
    server = await TestServer.start({ env: { MILLRACE_ISOLATION: "none", MILLRACE_BOOT_ID: "first-boot" } });
    client = await server.client();
  });
  after(() => server.dispose());
  const create = (query: string, rest: Partial<JobInput>) =>
    client.call(routes.createJob, { body: shell(query, { retry_delay: 0, ...rest }) });
  const begun = async ({ id }: Job) => {
    for (; (await readJob(client, id)).status !== "RUNNING"; await sleep(20));
  };
  const reasons = async ({ id }: Job) =>
    (await client.call(routes.getJobAttempts, { params: { job_id: id }, query: {} })).attempts.map(
      ({ error_message }) => error_message ?? "",
    );

  it("ends a job whose time limit passed meanwhile, counted from its own start", async () => {
    const job = await create("sleep 1000", { timeout: 3 });
    await begun(job);
    await server.stop("SIGKILL");
    await sleep(3500);
    await server.start();
    const { status, error_message } = await ended(client, job.id);
    assert.equal(status, "FAILED");
    assert.match(error_message ?? "", /longer than its limit of 3 seconds/);
  });

  it("retries a job that was lost with its machine only if it has retries", async () => {
    const flag = join(server.dataDir, "second");
    const query = `[ -e '${flag}' ] && exit 0; sleep 1000`;
    const [once, twice] = [await create(query, {}), await create(query, { retries: 1 })];
    await Promise.all([begun(once), begun(twice)]);
    await server.stop("SIGKILL");
    await writeFile(flag, "");
    await server.start({ MILLRACE_BOOT_ID: "second-boot" });
    const lost = await ended(client, once.id);
    assert.deepEqual([lost.status, lost.retried], ["FAILED", 0]);
    assert.match(
      lost.error_message ?? "",
      /^The job was lost: .* The job was not run again; rerun it if running it twice is safe\.$/,
    );
    assert.equal((await ended(client, twice.id)).status, "COMPLETE");
    const [first = ""] = await reasons(twice);
    assert.match(first, /^The job was lost: [^.]*\.$/);
  });
});
