/** Notification e-mails, through a real SMTP server. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { Writable } from "node:stream";
import { after, before, describe, it } from "node:test";
import { type Client, type Delivery, routes } from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { MailServer } from "@millrace/testing/servers/mail-server.ts";
import { pino } from "pino";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { refused } from "../support/people.ts";

describe("notifications by e-mail", () => {
  let mail: MailServer;
  let server: InProcessServer;
  let client: Client;
  let log = "";
  before(async () => {
    mail = await MailServer.start();
    const sink = new Writable({
      write(bytes: Buffer, _encoding, done) {
        log += bytes.toString();
        done();
      },
    });
    const env = {
      MILLRACE_SMTP_URL: mail.url,
      MILLRACE_SMTP_FROM: "Millrace <millrace@example.com>",
      MILLRACE_WEBHOOK_RETRY: "1",
    };
    server = await startInProcess(env, pino({ level: "trace" }, sink));
    client = await server.client();
  });
  after(async () => {
    await server.dispose();
    await mail.stop();
  });

  const set = (address: string, rest: object = {}) =>
    client.call(routes.setNotification, { body: { address, ...rest } });
  async function settled(address: string, wanted: (deliveries: Delivery[]) => boolean): Promise<Delivery[]> {
    for (const deadline = Date.now() + 60_000; ; ) {
      const deliveries = await client.call(routes.listDeliveries, { query: { mail_address: address } });
      if (wanted(deliveries)) return deliveries;
      if (Date.now() > deadline) throw new Error(`not as wanted: ${JSON.stringify(deliveries)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  it("go to the team's addresses that subscribe to the event, from the operator's address, after authentication", async () => {
    const told = await set("ops@example.com", { events: ["job.failure", "job.recovery"] });
    assert.deepEqual(told.events, ["job.failure", "job.recovery"]);
    await set("others@example.com", { events: ["schedule.skip"] });
    const { job } = await runJob(client, shell("exit 4", { query_name: "night\r\nBcc: x@example.com.sh" }));
    await mail.wait(1);
    const [first] = mail.mails;
    assert.deepEqual([first?.from, first?.to], ["millrace@example.com", ["ops@example.com"]]);
    const [head = "", text = ""] = first?.message.split("\r\n\r\n") ?? [];
    assert.match(head, /^Subject: \[Millrace\] The job night/m);
    assert.doesNotMatch(head, /^Bcc:/m);
    const [delivery] = await settled("ops@example.com", ([one]) => one?.status === "delivered");
    assert.match(head, new RegExp(`^Message-ID: <${delivery?.id}@millrace>`, "m"));
    assert.match(text.replaceAll("=\r\n", ""), new RegExp(`failed.*${job.id}`, "s"));
    await runJob(client, shell("exit 0", { rerun_from_job_id: job.id }));
    await mail.wait(2);
    assert.match(mail.mails[1]?.message ?? "", /complete again/);
    assert.equal(mail.mails.length, 2);
  });

  it("can be tested with a message that says so", async () => {
    await set("tested@example.com");
    const before = mail.mails.length;
    const { id, event } = await client.call(routes.testNotification, { body: { address: "tested@example.com" } });
    await mail.wait(before + 1);
    assert.equal(event, "PING");
    assert.match(mail.mails.at(-1)?.message ?? "", new RegExp(`X-Millrace-Delivery: ${id}`, "i"));
  });

  it("are retried with the same id if the mail server refuses temporarily", async () => {
    await set("later@example.com");
    let tries = 0;
    mail.refuse = (address) => (address === "later@example.com" && ++tries < 3 ? 451 : undefined);
    const before = mail.mails.length;
    const { id } = await client.call(routes.testNotification, { body: { address: "later@example.com" } });
    await settled("later@example.com", ([one]) => typeof one?.error === "string");
    const [notification] = (await client.call(routes.listNotifications, { query: {} })).filter(
      ({ address }) => address === "later@example.com",
    );
    assert.equal(notification?.failures, 0, "what the mail server does for a while is not the address's fault");
    await mail.wait(before + 1);
    const [delivery] = await settled("later@example.com", ([one]) => one?.status === "delivered");
    assert.deepEqual([delivery?.id, delivery?.attempts], [id, 3]);
  });

  it("count against an address that the mail server refuses permanently", async () => {
    await set("nobody@example.com");
    mail.refuse = (address) => (address === "nobody@example.com" ? 550 : undefined);
    await client.call(routes.testNotification, { body: { address: "nobody@example.com" } });
    const [delivery] = await settled("nobody@example.com", ([one]) => typeof one?.error === "string");
    assert.match(delivery?.error ?? "", /no mailbox nobody@example.com/);
    const all = await client.call(routes.listNotifications, { query: {} });
    assert.ok((all.find(({ address }) => address === "nobody@example.com")?.failures ?? 0) > 0);
  });

  it("stop when the address is removed", async () => {
    await set("gone@example.com");
    await client.call(routes.deleteNotification, { body: { address: "gone@example.com" } });
    await refused(client.call(routes.testNotification, { body: { address: "gone@example.com" } }), "not_found");
    const rows = await client.call(routes.listAudit, { query: { limit: 2 } });
    assert.deepEqual(
      rows.map(({ action, target }) => [action, target]),
      [
        ["notification.delete", "gone@example.com"],
        ["notification.set", "gone@example.com"],
      ],
    );
  });

  it("never reveal the password of the mail server", () => {
    assert.ok(log.length > 0);
    assert.doesNotMatch(log, /mail(%20| )secret/);
  });

  it("fail if the mail server is silent for longer than the operator's limit", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const env = { MILLRACE_SMTP_URL: `smtp://127.0.0.1:${port}`, MILLRACE_SMTP_SECONDS: "1" };
    const other = await startInProcess(env);
    try {
      const own = await other.client();
      await own.call(routes.setNotification, { body: { address: "a@example.com" } });
      const { id } = await own.call(routes.testNotification, { body: { address: "a@example.com" } });
      const read = () => own.call(routes.listDeliveries, { query: { delivery_id: id } });
      // Within half a minute: the default would be a minute.
      let [delivery] = await read();
      for (
        const deadline = Date.now() + 120_000;
        delivery?.error === null && Date.now() < deadline;
        [delivery] = await read()
      );
      assert.match(delivery?.error ?? "", /The e-mail could not be sent to the mail server/);
    } finally {
      await other.dispose();
      silent.close();
    }
  });

  it("are refused if the operator has configured no mail server", async () => {
    const other = await startInProcess();
    try {
      const call = (await other.client()).call(routes.setNotification, { body: { address: "a@example.com" } });
      await refused(call, "wrong_state", /MILLRACE_SMTP_URL/);
    } finally {
      await other.dispose();
    }
  });
});
