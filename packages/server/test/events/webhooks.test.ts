/** Webhooks on a running server, with a real receiver: what is sent, to whom, and with which result. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { after, afterEach, before, describe, it } from "node:test";
import { type Client, type CreateWebhookInput, type Delivery, type NewWebhook, routes } from "@millrace/contract";
import { createJob, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { Receiver } from "@millrace/testing/servers/receiver.ts";
import { pino } from "pino";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { addPerson, refused } from "../support/people.ts";

describe("webhooks", () => {
  let server: InProcessServer;
  let client: Client;
  let receiver: Receiver;
  let log = "";
  before(async () => {
    const sink = new Writable({
      write(bytes: Buffer, _encoding, done) {
        log += bytes.toString();
        done();
      },
    });
    const env = {
      MILLRACE_WEBHOOK_NETWORKS: "127.0.0.0/8",
      MILLRACE_WEBHOOK_SECONDS: "1",
      MILLRACE_WEBHOOK_RETRY: "1",
    };
    server = await startInProcess(env, pino({ level: "trace" }, sink));
    client = await server.client();
    receiver = await Receiver.start();
  });
  after(async () => {
    await server.dispose();
    await receiver.stop();
  });
  afterEach(async () => {
    for (const { id } of await client.call(routes.listWebhooks, { query: {} }))
      await client.call(routes.deleteWebhook, { body: { webhook_id: id } });
    receiver.received.length = 0;
    receiver.answer = () => 204;
  });

  const create = (rest: Partial<CreateWebhookInput> = {}): Promise<NewWebhook> =>
    client.call(routes.createWebhook, { body: { url: receiver.url(), ...rest } });
  const came = (count: number) => receiver.wait((received) => received.length >= count);
  const deliveriesOf = (webhook_id: number) => client.call(routes.listDeliveries, { query: { webhook_id } });
  async function settled(webhook_id: number, wanted: (deliveries: Delivery[]) => boolean): Promise<Delivery[]> {
    for (const deadline = Date.now() + 60_000; ; ) {
      const deliveries = await deliveriesOf(webhook_id);
      if (wanted(deliveries)) return deliveries;
      if (Date.now() > deadline) throw new Error(`not as wanted: ${JSON.stringify(deliveries)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  const delivered = (count: number) => (deliveries: Delivery[]) =>
    deliveries.filter(({ status }) => status === "delivered").length >= count;

  it("send a PING when they are created, signed with HMAC-SHA256 of the raw body", async () => {
    const webhook = await create();
    await came(1);
    const [ping] = receiver.received;
    assert.equal(ping?.method, "POST");
    assert.equal(ping?.headers["http-x-datachain-event"], "PING");
    const hex = createHmac("sha256", webhook.secret)
      .update(ping?.body ?? "")
      .digest("hex");
    assert.equal(ping?.headers["x-datachain-signature-256"], `sha256=${hex}`);
    const [told] = receiver.told();
    assert.equal(told?.["action"], "PING");
    assert.match(String(told?.["message"]), /./);
    const [delivery] = await settled(webhook.id, delivered(1));
    assert.deepEqual([delivery?.id, delivery?.id], [ping?.headers["x-millrace-delivery"], told?.["delivery_id"]]);
    assert.deepEqual([delivery?.event, delivery?.attempts, delivery?.response_status], ["PING", 1, 204]);
  });

  it("report the job states that they subscribe to, as the contract writes them", async () => {
    const webhook = await create({ job_statuses: ["CREATED", "INIT", "FAILED"] });
    const { job } = await runJob(client, shell("echo no >&2; exit 3", { query_name: "nightly.sh" }));
    await came(4);
    const [, ...told] = receiver.told();
    const states = told.map((one) => one["job"] as Record<string, unknown>);
    assert.deepEqual(new Set(states.map(({ status }) => status)), new Set(["CREATED", "INIT", "FAILED"]));
    const failed = told.find((one) => (one["job"] as { status: string }).status === "FAILED");
    const { updated_at, ...state } = (failed?.["job"] ?? {}) as Record<string, unknown>;
    assert.deepEqual(state, {
      id: job.id,
      status: "FAILED",
      error_message: job.error_message,
      name: "nightly.sh",
      created_at: job.created_at,
      finished_at: job.finished_at,
      url: job.url,
    });
    assert.equal(updated_at, job.finished_at);
    assert.equal(failed?.["action"], "job_status");
    assert.match(String(failed?.["timestamp"]), /^\d{4}-.*Z$/);
    assert.match(String(failed?.["text"]), /nightly\.sh .* of the team main failed: /);
    assert.equal(receiver.received.at(-1)?.headers["http-x-datachain-event"], "JOB");
    await settled(webhook.id, delivered(4));
  });

  it("report a failure once if they subscribe to both the state and the event", async () => {
    const webhook = await create({ job_statuses: ["FAILED"], events: ["job.failure"] });
    await runJob(client, shell("exit 1"));
    await settled(webhook.id, delivered(2));
    await runJob(client, shell("exit 0"));
    assert.deepEqual(
      receiver.told().map((one) => one["event"]),
      [undefined, "job.failure"],
    );
  });

  it("report a rerun that succeeds after a failure as a recovery, and no other success", async () => {
    const webhook = await create({ events: ["job.recovery"] });
    await runJob(client, shell("exit 0"));
    const { job } = await runJob(client, shell("exit 1"));
    await runJob(client, shell("exit 0", { rerun_from_job_id: job.id }));
    await runJob(client, shell("exit 0", { rerun_from_job_id: job.id }));
    await settled(webhook.id, delivered(2));
    const [, told, ...others] = receiver.told();
    assert.deepEqual([told?.["event"], others.length], ["job.recovery", 0]);
    assert.match(String(told?.["text"]), /complete again after a failure/);
  });

  it("send the same JSON in the form field payload, or only a text for Slack, according to their format", async () => {
    const form = await create({ url: receiver.url("/form"), format: "form", method: "PUT", events: ["job.failure"] });
    await create({ url: receiver.url("/slack"), format: "slack", events: ["job.failure"] });
    await runJob(client, shell("echo '<b>&' >&2; exit 1", { query_name: "a<b>.sh" }));
    await came(4);
    const [, failed] = receiver.received.filter(({ path }) => path === "/form");
    assert.equal(failed?.method, "PUT");
    assert.equal(failed?.headers["content-type"], "application/x-www-form-urlencoded");
    const hex = createHmac("sha256", form.secret)
      .update(failed?.body ?? "")
      .digest("hex");
    assert.equal(failed?.headers["x-datachain-signature-256"], `sha256=${hex}`);
    const payload = new URLSearchParams(failed?.body).get("payload") ?? "";
    assert.equal((JSON.parse(payload) as { action: string }).action, "job_status");
    const [, slack] = receiver.told("/slack");
    assert.deepEqual(Object.keys(slack ?? {}), ["text"]);
    assert.match(String(slack?.["text"]), /a&lt;b&gt;\.sh/);
  });

  it("are retried with the same id and the same bytes after a failure, until a success", async () => {
    const webhook = await create({ events: ["job.failure"] });
    await settled(webhook.id, delivered(1));
    receiver.answer = () => (receiver.received.length < 3 ? 503 : 200);
    await runJob(client, shell("exit 1"));
    const [delivery] = await settled(webhook.id, delivered(2));
    const [, first, second, third] = receiver.received;
    assert.deepEqual([second?.body, third?.body], [first?.body, first?.body]);
    for (const got of [first, second, third]) assert.equal(got?.headers["x-millrace-delivery"], delivery?.id);
    assert.equal(delivery?.attempts, 3);
    const [shown] = await client.call(routes.listWebhooks, { query: {} });
    assert.deepEqual([shown?.failures, shown?.waiting], [0, 0]);
  });

  it("are redelivered on request: the same delivery, the same id", async () => {
    const webhook = await create();
    const [ping] = await settled(webhook.id, delivered(1));
    const again = await client.call(routes.redeliver, { body: { delivery_id: ping?.id ?? "" } });
    assert.deepEqual([again.id, again.status], [ping?.id, "pending"]);
    await came(2);
    await settled(webhook.id, delivered(1));
    const [first, second] = receiver.received;
    assert.deepEqual([second?.body, second?.headers], [first?.body, { ...first?.headers }]);
  });

  it("follow no redirects", async () => {
    receiver.answer = ({ path }, response) => {
      if (path === "/elsewhere") return 200;
      response.writeHead(302, { location: receiver.url("/elsewhere") }).end();
      return undefined;
    };
    const webhook = await create();
    const [ping] = await settled(webhook.id, ([one]) => (one?.attempts ?? 0) > 0 && one?.error !== null);
    assert.deepEqual([ping?.status, ping?.response_status], ["pending", 302]);
    assert.match(ping?.error ?? "", /Redirects are not followed/);
    assert.deepEqual(
      receiver.received.filter(({ path }) => path === "/elsewhere"),
      [],
    );
  });

  it("fail if no answer arrives in time, and read only the beginning of an endless one", async () => {
    receiver.answer = () => undefined;
    const silent = await create();
    const [first] = await settled(silent.id, ([one]) => typeof one?.error === "string");
    assert.match(first?.error ?? "", /no answer within 1 seconds/);
    let sent = 0;
    receiver.answer = (_got, response) => {
      response.writeHead(200);
      const more = () => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384))) sent += 16_384;
        if (!response.destroyed) response.once("drain", more);
      };
      more();
      return undefined;
    };
    const endless = await create();
    await settled(endless.id, delivered(1));
    // Socket buffers may hold more than what is read.
    assert.ok(sent < 32 * 1024 * 1024, `${sent} bytes were sent`);
  });

  it("keep the secret and the URL out of lists, logs, audit and the store", async () => {
    const secret = "a-secret-of-my-own-1234567890";
    const webhook = await create({ secret, url: receiver.url("/T0/B0/token-in-the-url") });
    assert.equal(webhook.secret, secret);
    await settled(webhook.id, delivered(1));
    const shown = await server.fetch("/api/datachain/webhooks?team_name=main");
    const text = await shown.text();
    assert.ok(text.includes("token-in-the-url") && !text.includes(secret), text);
    await client.call(routes.updateWebhook, { body: { webhook_id: webhook.id, secret: `${secret}-new` } });
    await refused(
      client.call(routes.updateWebhook, { body: { webhook_id: webhook.id, secret: "too short" } }),
      "invalid",
      /^(?!.*too short)/,
    );
    const audit = JSON.stringify(await client.call(routes.listAudit, { query: {} }));
    for (const [where, what] of [
      ["audit", audit],
      ["log", log],
    ] as const)
      assert.ok(!what.includes(secret) && !what.includes("token-in-the-url"), where);
    for (const name of await readdir(server.dataDir)) {
      if (!name.startsWith("millrace.db")) continue;
      const bytes = await readFile(join(server.dataDir, name), "latin1");
      assert.ok(!bytes.includes(secret) && !bytes.includes("token-in-the-url"), name);
    }
  });

  it("can be managed only by admins of their team", async () => {
    const webhook = await create();
    const editor = await addPerson(server, "webhook-editor", { team: "main", role: "editor" });
    await refused(editor.client.call(routes.listWebhooks, { query: {} }), "forbidden");
    await refused(editor.client.call(routes.createWebhook, { body: { url: receiver.url() } }), "forbidden");
    await refused(editor.client.call(routes.deleteWebhook, { body: { webhook_id: webhook.id } }), "forbidden");
  });

  it("are refused without events, with credentials in the URL, and beyond their maximum number", async () => {
    await refused(create({ events: [] }), "invalid", /at least one event/);
    await refused(create({ url: "http://user:password@example.com/" }), "invalid", /without a user name/);
    await refused(create({ url: "ftp://example.com/" }), "invalid");
    for (let count = 0; count < 50; count++) await create();
    await refused(create(), "wrong_state", /50 webhooks already/);
  });

  it("leave audit rows", async () => {
    const { id } = await create();
    await client.call(routes.updateWebhook, { body: { webhook_id: id, enabled: false } });
    await client.call(routes.testWebhook, { body: { webhook_id: id } });
    await client.call(routes.deleteWebhook, { body: { webhook_id: id } });
    const rows = await client.call(routes.listAudit, { query: { limit: 4 } });
    assert.deepEqual(
      rows.map(({ action, target }) => [action, target]),
      ["delete", "test", "update", "create"].map((verb) => [`webhook.${verb}`, `webhook ${id}`]),
    );
  });

  it("that are disabled get no events, but can be tested", async () => {
    const webhook = await create({ job_statuses: ["COMPLETE"] });
    await settled(webhook.id, delivered(1));
    await client.call(routes.updateWebhook, { body: { webhook_id: webhook.id, enabled: false } });
    await waitForEnd(client, (await createJob(client, shell("exit 0"))).id);
    await client.call(routes.testWebhook, { body: { webhook_id: webhook.id } });
    await settled(webhook.id, delivered(2));
    assert.deepEqual(
      receiver.told().map((one) => one["action"]),
      ["PING", "PING"],
    );
  });
});
