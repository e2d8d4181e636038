/**
 * The crash test of notifications: the server is repeatedly killed with -9, at random moments and at fault points,
 * while jobs, pipelines and schedules cause events for a webhook and a mail address, and while both fail occasionally.
 * Afterwards each has got every event at least once, with one delivery id and one body, or one Message-ID and one text;
 * and the receivers of the documentation accept every request as genuine.
 *
 * Short form in the test suite; long form: CRASH_JOBS=300 CRASH_KILLS=20 npm test crash
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Client, createClient, routes } from "@millrace/contract";
import { shell } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { MailServer, type ReceivedMail } from "@millrace/testing/servers/mail-server.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { type Received, Receiver } from "@millrace/testing/servers/receiver.ts";
import { Recipe, type RecipeLanguage } from "@millrace/testing/servers/recipes.ts";
import { nightEvents, persistently, ToldNights } from "./support/told-nights.ts";

const jobCount = Number(process.env["CRASH_JOBS"] ?? 30);
const killCount = Number(process.env["CRASH_KILLS"] ?? 6);
const secret = "the-secret-of-both-webhooks";

/**
 * Fault points between a step and the write that records it, at which the server kills itself, beside the random
 * moments.
 */
const faults = ["", "events-told:3", "delivery-taken:5", "delivery-sent:4", "result-committed:3", "delivery-sent:1"];

describe("a server killed with -9 delivers every event at least once, with the same delivery id", () => {
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
  const mail = await MailServer.start();
  const server = await TestServer.start({ ...(databaseUrl ? { databaseUrl } : {}), env: settings(mail) });
  const token = await server.token();
  const nights = await ToldNights.prepare(server, databaseUrl, token);
  try {
    const client = createClient({ url: server.url, token, team: "main" });
    await listen(client, nights.client, receiver);
    failNowAndThen(receiver, mail);
    const killer = killAgainAndAgain(server, receiver, nights);
    const [ids] = await Promise.all([submitAll(client), nights.play(), killer]);
    const jobs = ids.flatMap((id, index) => [`${id} CREATED`, `${id} ${index % 3 === 2 ? "FAILED" : "COMPLETE"}`]);
    const told = [...jobs, ...(await nights.expected())];
    await receiver.wait(() => told.every((event) => new Set(receiver.received.map(eventOf)).has(event)), 300);
    const failed = ids.filter((_, index) => index % 3 === 2).map((id) => `job.failure ${id}`);
    await assertMails(mail, [...failed, ...(await nights.expected())]);
    assertRequests(receiver.received, told);
    for (const language of ["python", "typescript"] as const) await assertGenuine(language, receiver.received);
    assert.doesNotMatch(server.output, /"level":50/, "the server logged no error");
  } finally {
    await nights.dispose();
    await server.dispose();
    await receiver.stop();
    await mail.stop();
  }
}

const settings = (mail: MailServer) => ({
  MILLRACE_MAX_WORKERS: "4",
  MILLRACE_LOG_LEVEL: "warn",
  MILLRACE_ISOLATION: "none",
  MILLRACE_WEBHOOK_NETWORKS: "127.0.0.1",
  MILLRACE_WEBHOOK_SECONDS: "1",
  MILLRACE_WEBHOOK_RETRY: "1",
  MILLRACE_SMTP_URL: mail.url,
  MILLRACE_SMTP_SECONDS: "1",
});

/** One team reports job states, the other the events of its schedules; e-mails report the failures of both. */
async function listen(client: Client, nights: Client, receiver: Receiver): Promise<void> {
  const url = receiver.url();
  await client.call(routes.createWebhook, {
    body: { url, secret, job_statuses: ["CREATED", "COMPLETE", "FAILED"] },
  });
  await nights.call(routes.createWebhook, { body: { url, secret, events: [...nightEvents] } });
  const address = "ops@example.com";
  await client.call(routes.setNotification, { body: { address, events: ["job.failure"] } });
  await nights.call(routes.setNotification, { body: { address, events: [...nightEvents] } });
}

/** Fails after accepting the message. */
function failNowAndThen(receiver: Receiver, mail: MailServer): void {
  receiver.answer = () => (receiver.received.length % 11 === 10 ? 500 : 204);
  mail.denies = () => mail.mails.length % 7 === 6;
}

function eventOf({ body }: Received): string {
  const { action, event, job, pipeline, schedule } = JSON.parse(body) as {
    readonly action: string;
    readonly event: string;
    readonly job?: { readonly id: string; readonly status: string };
    readonly pipeline?: { readonly name: string };
    readonly schedule?: { readonly name: string };
  };
  if (job) return `${job.id} ${job.status}`;
  const subject = pipeline ?? schedule;
  return subject ? `${event} ${subject.name}` : action;
}

/** However often an event arrived, it was one delivery: one id, one body; and every reported event happened. */
function assertRequests(received: readonly Received[], told: readonly string[]): void {
  const known = new Map<string, Received>();
  for (const got of received) {
    const first = known.get(eventOf(got)) ?? got;
    known.set(eventOf(got), first);
    if (eventOf(got) === "PING") continue;
    assert.equal(got.headers["x-millrace-delivery"], first.headers["x-millrace-delivery"], eventOf(got));
    assert.equal(got.body, first.body);
  }
  assert.ok(received.length > known.size, "some came twice: the test met what it is about");
  assert.deepEqual(
    [...known.keys()].filter((event) => event !== "PING" && !told.includes(event)),
    [],
    "nothing is told that did not happen",
  );
}

/** The receiver of the documentation accepts each request unchanged, and rejects a changed one. */
async function assertGenuine(language: RecipeLanguage, received: readonly Received[]): Promise<void> {
  const recipe = await Recipe.start(language, secret);
  try {
    const send = async ({ method, headers, body }: Received, changed = "") => {
      const { connection: _c, host: _h, "content-length": _l, ...kept } = headers as Record<string, string>;
      return (await persistently(() => fetch(recipe.url, { method, headers: kept, body: body + changed }))).status;
    };
    const statuses = new Set<number>();
    for (const got of received) statuses.add(await send(got));
    assert.deepEqual([...statuses], [204], language);
    assert.equal(await send(received[0] as Received, " "), 401, language);
  } finally {
    await recipe.stop();
  }
}

const messageIdOf = ({ message }: ReceivedMail) => /^Message-ID: (\S+)/im.exec(message)?.[1] ?? "none";

/** The text as a person reads it: lines that the mail program wrapped are joined. */
const textOf = ({ message }: ReceivedMail) =>
  message
    .slice(message.indexOf("\r\n\r\n"))
    .replace(/=\r\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));

/** Each event arrived at least once, always as the same message: one Message-ID, one text. */
async function assertMails(mail: MailServer, told: readonly string[]): Promise<void> {
  const textsOf = (event: string) => {
    const [what = "", subject = ""] = event.split(" ");
    const isAbout = new RegExp(`\\b${subject}\\b[\\s\\S]*Event ${what},`);
    return new Set(mail.mails.map(textOf).filter((text) => isAbout.test(text)));
  };
  const missing = () => told.filter((event) => textsOf(event).size === 0);
  const someCameTwice = () => mail.mails.length > new Set(mail.mails.map(messageIdOf)).size;
  // The mail server denies the sixth message, so it comes again after a pause, perhaps as the last of all.
  for (const deadline = Date.now() + 300_000; missing().length > 0 || !someCameTwice(); await sleep(50))
    assert.ok(Date.now() < deadline, `no e-mail about ${missing()}; some came twice: ${someCameTwice()}`);
  for (const event of told) assert.equal(textsOf(event).size, 1, [...textsOf(event)].join());
  const heard = new Set(told.flatMap((event) => [...textsOf(event)]));
  const all = new Map(mail.mails.map((one) => [messageIdOf(one), textOf(one)]));
  for (const one of mail.mails) assert.equal(textOf(one), all.get(messageIdOf(one)), "one text for each id");
  assert.deepEqual(
    [...all.values()].sort(),
    [...heard].sort(),
    "one id for each text, and nothing that did not happen",
  );
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

/** Each kill waits until a few more events have arrived, so that deliveries are in progress. */
async function killAgainAndAgain(server: TestServer, receiver: Receiver, nights: ToldNights): Promise<void> {
  for (let round = 0; round < killCount; round++) {
    const heard = receiver.received.length;
    const more = receiver.wait((received) => received.length > heard + 1, 10).catch(() => {});
    await Promise.race([more, server.ended()]);
    await sleep(Math.random() * 100);
    await server.stop("SIGKILL");
    await nights.beLate();
    const fault = faults[round % faults.length] ?? "";
    await server.start({ MILLRACE_FAULT: fault }).catch(() => server.start());
  }
  await server.stop("SIGKILL");
  await nights.beLate();
  await server.start();
}
