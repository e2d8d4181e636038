/**
 * How the name of a webhook is resolved: a real server, a real name server and real connections, in a network namespace
 * without a route out. A public address and 127.0.0.1 lead to two different receivers at the same port there.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { type Client, type Delivery, routes } from "@millrace/contract";
import { Receiver } from "@millrace/testing/servers/receiver.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { NameServer } from "../support/name-server.ts";
import { isInside, runInside, whyNoOwnNetwork } from "../support/own-network.ts";

/** An address that exists only in this network namespace. */
const publicAddress = "93.184.216.34";
const publicAddress6 = "2606:2800:220:1::1";
const port = 8080;

if (isInside) describe("a webhook with a name", { timeout: 300_000 }, inside);
else
  it("a webhook connects to the public addresses of its name and to no other", {
    skip: whyNoOwnNetwork(),
  }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-names-"));
    try {
      const said = await runInside(import.meta.filename, folder, [`${publicAddress}/32`, `${publicAddress6}/128`]);
      assert.match(said, /pass [1-9]/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

function inside(): void {
  let names: NameServer;
  let open: Receiver;
  let open6: Receiver;
  let secret: Receiver;
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    names = await NameServer.start("127.0.0.1", 53);
    open = await Receiver.start(undefined, { host: publicAddress, port });
    open6 = await Receiver.start(undefined, { host: publicAddress6, port });
    secret = await Receiver.start(undefined, { port });
    server = await startInProcess({ MILLRACE_WEBHOOK_SECONDS: "2", MILLRACE_WEBHOOK_RETRY: "3600" });
    client = await server.client();
  });
  after(async () => {
    await server?.dispose();
    for (const receiver of [open, open6, secret]) await receiver?.stop();
    await names?.stop();
  });
  afterEach(() => {
    assert.equal(secret.connections, 0, "nobody ever connects to this machine");
    for (const receiver of [open, open6]) receiver.received.length = 0;
    open.answer = () => 204;
    names.asked.length = 0;
  });

  /** Returns the result of the attempt that the last request caused. */
  async function attempted(id: string, attempts = 1): Promise<Delivery> {
    for (const deadline = Date.now() + 60_000; ; ) {
      const [one] = await client.call(routes.listDeliveries, { query: { delivery_id: id } });
      if (one && one.attempts >= attempts && (one.status === "delivered" || one.error !== null)) return one;
      assert.ok(Date.now() < deadline, `no end of the attempt: ${JSON.stringify(one)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }
  /** Returns the result of the PING of a new webhook. */
  async function told(host: string): Promise<Delivery> {
    const { id } = await client.call(routes.createWebhook, { body: { url: `http://${host}:${port}/hook` } });
    const [ping] = await client.call(routes.listDeliveries, { query: { webhook_id: id } });
    return attempted(ping?.id ?? "");
  }
  const again = async ({ id }: Delivery) => {
    await client.call(routes.redeliver, { body: { delivery_id: id } });
    return attempted(id);
  };

  it("connects to its public address, resolves the name once, and sends the name in the request", async () => {
    names.answer = () => [publicAddress];
    const { status, error } = await told("hook.example");
    assert.deepEqual([status, error], ["delivered", null]);
    assert.equal(open.received[0]?.headers.host, `hook.example:${port}`);
    assert.deepEqual(names.asked.sort(), ["a hook.example", "aaaa hook.example"]);
  });

  it("connects to a public IPv6 address", async () => {
    names.answer = () => [publicAddress6];
    assert.equal((await told("six.example")).status, "delivered");
    assert.equal(open6.received.length, 1);
  });

  for (const addresses of [["127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["127.0.0.1", "10.0.0.1", "fe80::1"]])
    it(`does not connect if the name resolves to ${addresses.join(" and ")}`, async () => {
      names.answer = () => addresses;
      assert.match((await told("inside.example")).error ?? "", /inside\.example is a private address/);
    });

  it("never connects to 127.0.0.1 if the name resolves there after it was checked", async () => {
    // Every query after the first lookup is answered with the address of this machine.
    names.answer = () => (names.asked.length <= 2 ? [publicAddress] : ["127.0.0.1"]);
    const first = await told("rebound.example");
    assert.deepEqual([first.status, open.received.length], ["delivered", 1]);
    assert.match((await again(first)).error ?? "", /rebound\.example is a private address/);
  });

  it("connects only to the public ones of several addresses, even if those do not answer", async () => {
    names.answer = () => ["127.0.0.1", publicAddress];
    const first = await told("both.example");
    assert.equal(first.status, "delivered");
    await open.stop();
    assert.match((await again(first)).error ?? "", /could not be reached: ECONNREFUSED/);
    open = await Receiver.start(undefined, { host: publicAddress, port });
  });

  it("does not follow redirects, neither to an address nor to a name", async () => {
    names.answer = (name) => [name === "inside.example" ? "127.0.0.1" : publicAddress];
    for (const location of [`http://127.0.0.1:${port}/`, `http://inside.example:${port}/`]) {
      open.answer = (_got, response) => {
        response.writeHead(307, { location }).end();
        return undefined;
      };
      const { response_status, error } = await told("hook.example");
      assert.equal(response_status, 307);
      assert.match(error ?? "", /Redirects are not followed/);
    }
    assert.ok(!names.asked.some((asked) => asked.endsWith("inside.example")));
  });

  it("is not resolved with the hosts file: localhost has no address if the name server does not know it", async () => {
    names.answer = () => [];
    assert.match((await told("localhost")).error ?? "", /could not be reached: ENOTFOUND/);
  });

  it("reports that the name server does not answer", async () => {
    names.answer = () => undefined;
    assert.match(
      (await told("silent.example")).error ?? "",
      /no answer within 2 seconds|could not be reached: E?TIMEOUT/,
    );
  });
}
