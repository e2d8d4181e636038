/** `millrace webhook` and `millrace notify`, from the first PING to the removal. */
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { Delivery, NewWebhook, Notification, Webhook } from "@millrace/contract";
import { runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { MailServer } from "@millrace/testing/servers/mail-server.ts";
import { Receiver } from "@millrace/testing/servers/receiver.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace webhook and millrace notify", async () => {
  const mail = await MailServer.start();
  const suite = ClientSuite.use({
    MILLRACE_WEBHOOK_NETWORKS: "127.0.0.1",
    MILLRACE_WEBHOOK_SECONDS: "2",
    MILLRACE_SMTP_URL: mail.url,
  });
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  let receiver: Receiver;
  before(async () => {
    cli = await commandLine();
    receiver = await Receiver.start();
  });
  after(async () => {
    await receiver.stop();
    await mail.stop();
  });

  const webhooks = () => cli.json<Webhook[]>("webhook", "ls");
  const idOfFirst = async () => String((await webhooks())[0]?.id);

  test("create creates a webhook with a secret that is shown once, and sends a PING", async () => {
    const said = await cli.print("webhook", "create", receiver.url(), "--event", "job.failure", "job.recovery");
    const [, secret = ""] = /^secret: (\S+)$/m.exec(said) ?? [];
    await receiver.wait((received) => received.length === 1);
    const [ping] = receiver.received;
    const hex = createHmac("sha256", secret)
      .update(ping?.body ?? "")
      .digest("hex");
    assert.equal(ping?.headers["x-datachain-signature-256"], `sha256=${hex}`);
    assert.ok(!(await cli.print("webhook", "ls")).includes(secret));
    const shown = await cli.print("webhook", "show", await idOfFirst());
    assert.ok(!shown.includes(secret));
    assert.match(shown, /^events\tjob\.failure\\njob\.recovery$/m);
    assert.match(shown, /^state\tok$/m);
  });

  test("create reads its secret from a file, never from an argument", async () => {
    const file = await cli.write("secret", "a secret from a file\n");
    const flags = ["--secret-file", file, "--format", "slack", "--job-status", "complete,failed"];
    const made = await cli.json<NewWebhook>("webhook", "create", receiver.url("/slack"), ...flags);
    assert.deepEqual([made.secret, made.format, made.events], ["a secret from a file", "slack", []]);
    assert.deepEqual(made.job_statuses, ["COMPLETE", "FAILED"]);
    await cli.print("webhook", "rm", String(made.id));
    assert.equal((await webhooks()).length, 1);
  });

  test("deliveries lists what was sent, and redeliver sends one again with the same id", async () => {
    const { job } = await runJob(suite.api, shell("exit 1", { query_name: "nightly.sh" }));
    const failure = await until("the delivery", async () => {
      const [newest] = await cli.json<Delivery[]>("webhook", "deliveries", await idOfFirst());
      return newest?.event === "job.failure" && newest.status === "delivered" ? newest : undefined;
    });
    assert.match(failure.text, new RegExp(`nightly\\.sh \\(${job.id}\\) of the team main failed`));
    assert.match(await cli.print("webhook", "deliveries", "--status", "delivered"), new RegExp(failure.id));
    assert.match(await cli.print("webhook", "redeliver", failure.id), new RegExp(`Delivered ${failure.id}`));
    const same = receiver.received.filter(({ headers }) => headers["x-millrace-delivery"] === failure.id);
    assert.deepEqual([same.length, same[1]?.body], [2, same[0]?.body]);
  });

  test("test sends a PING and reports the result", async () => {
    const id = await idOfFirst();
    assert.match(await cli.print("webhook", "test", id), /^Delivered /);
    receiver.answer = () => 418;
    assert.match(await cli.refused(1, "webhook", "test", id), /The receiver answered 418/);
    assert.match(await cli.print("webhook", "ls"), /failing \(1\)/);
    receiver.answer = () => 204;
  });

  test("update changes the given fields only", async () => {
    const id = await idOfFirst();
    const [before] = await webhooks();
    await cli.print("webhook", "update", id, "--disable");
    assert.match(await cli.print("webhook", "show", id), /^reason\tIt was disabled by hand\.$/m);
    const after = await cli.json<Webhook>("webhook", "update", id, "--enable", "--method", "put");
    assert.deepEqual([after.enabled, after.method, after.events], [true, "PUT", before?.events]);
    assert.match(await cli.refused(64, "webhook", "update", id), /nothing to change/);
    assert.match(await cli.refused(64, "webhook", "update", id, "--event", "job.failur"), /Did you mean job\.failure/);
  });

  test("rm asks on a terminal, and deletes", async () => {
    const id = await idOfFirst();
    const kept = await cli.type([["will be deleted", "n\n"]], "webhook", "rm", id);
    assert.notEqual(kept.code, 0);
    assert.equal((await webhooks()).length, 1);
    assert.match(await cli.print("webhook", "rm", id), /is deleted/);
    assert.deepEqual(await webhooks(), []);
    assert.match(await cli.refused(1, "webhook", "show", id), /no webhook/);
  });

  test("notify set, test, ls and rm manage an address, which gets e-mails about its events", async () => {
    const said = await cli.print("notify", "set", "ops@example.com", "--event", "job.failure");
    assert.match(said, /ops@example\.com receives job\.failure/);
    assert.match(await cli.print("notify", "test", "ops@example.com"), /^Delivered /);
    await runJob(suite.api, shell("exit 1"));
    await mail.wait(2);
    assert.match(await cli.print("webhook", "deliveries", "--address", "ops@example.com"), /job\.failure/);
    const [shown] = await cli.json<Notification[]>("notify", "ls");
    assert.deepEqual([shown?.address, shown?.events], ["ops@example.com", ["job.failure"]]);
    await cli.print("notify", "rm", "ops@example.com");
    assert.deepEqual(await cli.json<Notification[]>("notify", "ls"), []);
  });
});
