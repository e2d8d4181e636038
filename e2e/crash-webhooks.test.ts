/**
 * The crash test of webhooks: the server is killed with -9 again and again, at random moments and at fault points, while
 * jobs run that a receiver wants to hear of, and while that receiver fails now and then. Afterwards it has heard of every
 * event at least once, each with one delivery id and one body, and signed.
 *
 * Short form in the test suite; long form: CRASH_JOBS=300 CRASH_KILLS=20 npm test crash
 */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError, type Client, routes } from "@millrace/contract";
import { shell } from "./support/jobs.ts";
import { startPostgres, type TestPostgres } from "./support/postgres.ts";
import { type Received, Receiver } from "./support/receiver.ts";
import { TestServer } from "./support/server.ts";

const jobCount = Number(process.env["CRASH_JOBS"] ?? 40);
const killCount = Number(process.env["CRASH_KILLS"] ?? 8);

/** Where the server dies by itself, beside the random moments: between a step and what writes it down. */
const faults = ["", "events-told:3", "delivery-taken:5", "delivery-sent:4", "result-committed:3", "delivery-sent:1"];

describe("a server killed with -9 tells every event at least once, with the same delivery id", () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  it("on SQLite", { timeout: 1_200_000 }, () => crashTest(""));
  it("on PostgreSQL", { timeout: 1_200_000 }, async () => crashTest(await postgres.createDatabase()));
});

async function crashTest(databaseUrl: string): Promise<void> {
  const receiver = await Receiver.start();
  const server = await TestServer.start({
    ...(databaseUrl ? { databaseUrl } : {}),
    env: {
      MILLRACE_MAX_WORKERS: "4",
      MILLRACE_LOG_LEVEL: "warn",
      MILLRACE_ISOLATION: "none",
      MILLRACE_WEBHOOK_NETWORKS: "127.0.0.1",
      MILLRACE_WEBHOOK_SECONDS: "1",
      MILLRACE_WEBHOOK_RETRY: "1",
    },
  });
  try {
    const client = await server.client();
    const body = { url: receiver.url(), job_statuses: ["CREATED", "COMPLETE", "FAILED"] as const };
    const { secret } = await client.call(routes.createWebhook, {
      body: { ...body, job_statuses: [...body.job_statuses] },
    });
    // Now and then it fails, after it has taken what came.
    receiver.answer = () => (receiver.received.length % 11 === 10 ? 500 : 204);
    const killer = killAgainAndAgain(server, receiver);
    const ids = await submitAll(client);
    await killer;
    const expected = ids.flatMap((id, index) => [`${id} CREATED`, `${id} ${index % 3 === 2 ? "FAILED" : "COMPLETE"}`]);
    const heard = () => new Set(receiver.received.map(eventOf));
    await receiver.wait(() => expected.every((event) => heard().has(event)), 300);
    assertEach(receiver.received, secret);
    const others = [...heard()].filter((event) => event !== "PING" && !expected.includes(event));
    assert.deepEqual(others, [], "nothing is told that did not happen");
    assert.doesNotMatch(server.output, /"level":50/, "the server logged no error");
  } finally {
    await server.dispose();
    await receiver.stop();
  }
}

function eventOf({ body }: Received): string {
  const { action, job } = JSON.parse(body) as { action: string; job?: { id: string; status: string } };
  return job ? `${job.id} ${job.status}` : action;
}

/** However often an event came, it was one delivery: one id, one body; and each request was signed. */
function assertEach(received: readonly Received[], secret: string): void {
  const known = new Map<string, Received>();
  for (const got of received) {
    const hex = createHmac("sha256", secret).update(got.body).digest("hex");
    assert.equal(got.headers["x-datachain-signature-256"], `sha256=${hex}`);
    const first = known.get(eventOf(got)) ?? got;
    known.set(eventOf(got), first);
    assert.equal(got.headers["x-millrace-delivery"], first.headers["x-millrace-delivery"], eventOf(got));
    assert.equal(got.body, first.body);
  }
  assert.ok(received.length > known.size, "some came twice: the test met what it is about");
}

async function submitAll(client: Client): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < jobCount; index++) {
    const body = shell(`sleep 0.${index % 5}; exit ${index % 3 === 2 ? 1 : 0}`, { query_name: `told-${index}.sh` });
    const headers = { "idempotency-key": `told-${index}` };
    ids.push((await persistently(() => client.call(routes.createJob, { body }, { headers }))).id);
    await sleep(50);
  }
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

/** Each kill waits until a little more was heard, so that they meet deliveries under way. */
async function killAgainAndAgain(server: TestServer, receiver: Receiver): Promise<void> {
  for (let round = 0; round < killCount; round++) {
    const heard = receiver.received.length;
    const more = receiver.wait((received) => received.length > heard + 1, 10).catch(() => {});
    await Promise.race([more, server.ended()]);
    await sleep(Math.random() * 100);
    await server.stop("SIGKILL");
    const fault = faults[round % faults.length] ?? "";
    await server.start({ MILLRACE_FAULT: fault }).catch(() => server.start());
  }
  await server.stop("SIGKILL");
  await server.start();
}
