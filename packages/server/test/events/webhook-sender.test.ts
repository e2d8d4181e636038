/** Where a webhook may connect: the address decides, whatever its name resolved to before. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { makeCertificate, whyNoCertificates } from "@millrace/testing/programs/certificates.ts";
import { Receiver } from "@millrace/testing/servers/receiver.ts";
import { addressCheck } from "../../src/senders/public-addresses.ts";
import { type WebhookRules, webhookSender } from "../../src/senders/webhook.ts";

/** Accepts a request, sends thousands of TLS session tickets, and never answers. */
const ticketServer = `import socket, ssl, sys, time
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
context.num_tickets = 3000
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
context.wrap_socket(connection, server_side=True).recv(1000)
time.sleep(3600)`;

const skip = await whyNoCertificates();
const never = new AbortController().signal;
const request = { secret: "s".repeat(16), method: "POST", isForm: false, verifyTls: true, kind: "PING" } as const;
const delivery = { ...request, deliveryId: "an-id", body: "{}" };

describe("addresses that a webhook may be sent to", () => {
  const isPublic = addressCheck([]);
  for (const address of ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"])
    it(`include the public address ${address}`, () => assert.equal(isPublic(address), true));
  for (const address of [
    ...[
      "127.0.0.1",
      "127.8.8.8",
      "0.0.0.0",
      "10.0.0.1",
      "172.16.0.1",
      "172.31.255.255",
      "192.168.1.1",
      "169.254.169.254",
    ],
    ...[
      "100.64.0.1",
      "192.0.0.8",
      "192.0.2.1",
      "198.18.0.1",
      "198.51.100.1",
      "203.0.113.1",
      "224.0.0.1",
      "255.255.255.255",
    ],
    ...["::", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:a9fe:a9fe", "fe80::1", "fe80::1%eth0", "fc00::1"],
    ...["fd12:3456::1", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "::7f00:1", "not an address", ""],
  ])
    it(`exclude ${address || "an empty address"}`, () => assert.equal(isPublic(address), false));

  it("include those that the operator allows, and no others", () => {
    const isAllowed = addressCheck(["10.1.0.0/16", "fd00::/8", "127.0.0.1"]);
    const asked = ["10.1.2.3", "::ffff:10.1.2.3", "fd12::1", "127.0.0.1", "10.2.0.1", "127.0.0.2", "fe80::1"];
    assert.deepEqual(asked.filter(isAllowed), asked.slice(0, 4));
  });
});

describe("a webhook", () => {
  let receiver: Receiver;
  before(async () => {
    receiver = await Receiver.start();
  });
  after(() => receiver.stop());

  const rules = (rest: Partial<WebhookRules>): WebhookRules => ({ networks: [], seconds: 5, version: "0", ...rest });
  const to = (host: string, path = "") => ({ ...delivery, url: `http://${host}:${receiver.port}/${path}` });

  for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "127.1", "[::1]", "[::ffff:127.0.0.1]", "0"])
    it(`does not reach this machine as ${host}`, async () => {
      const connections = receiver.connections;
      const result = await webhookSender(rules({}))(to(host), never);
      assert.match(result.error ?? "", /private address.*MILLRACE_WEBHOOK_NETWORKS/);
      assert.equal(receiver.connections, connections, "no connection was opened");
    });

  it("does not reach a private address through a name", async () => {
    const seen: string[] = [];
    const resolve = async (name: string) => {
      seen.push(name);
      return ["127.0.0.1", "10.0.0.1", "::1"];
    };
    const connections = receiver.connections;
    const result = await webhookSender(rules({ resolve }))(to("hook.example"), never);
    assert.match(result.error ?? "", /hook\.example is a private address/);
    assert.deepEqual([seen, receiver.connections], [["hook.example"], connections]);
  });

  it("connects to the address that was checked: the name is resolved once, and later answers do not matter", async () => {
    const answers = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.3"]];
    let asked = 0;
    const resolve = async () => answers[asked++] ?? [];
    const send = webhookSender(rules({ resolve, networks: ["127.0.0.1"] }));
    const before = receiver.received.length;
    assert.equal((await send(to("hook.example"), never)).ok, true);
    const [got] = receiver.received.slice(before);
    assert.equal(got?.headers.host, `hook.example:${receiver.port}`, "the name is the receiver's to know");
    assert.equal(asked, 1);
    assert.match((await send(to("hook.example"), never)).error ?? "", /private address/, "looked up anew each time");
  });

  it("reports a name without an address", async () => {
    const resolve = async () => {
      throw Object.assign(new Error("no such name"), { code: "ENOTFOUND" });
    };
    const result = await webhookSender(rules({ resolve }))(to("hook.example", "a-secret-path"), never);
    assert.deepEqual(result, { ok: false, status: null, error: "The receiver could not be reached: ENOTFOUND." });
  });

  it("reports only the beginning of an answer, on one line", async () => {
    receiver.answer = (_got, response) => {
      response.writeHead(400).end(`invalid\r\n\u001b[31m${"x".repeat(10_000)}`);
      return undefined;
    };
    const result = await webhookSender(rules({ networks: ["127.0.0.1"] }))(to("127.0.0.1"), never);
    assert.match(result.error ?? "", /^The receiver answered 400: invalid \[31mx+$/);
    assert.ok((result.error ?? "").length < 300);
  });

  const endless = (piece: string) => async (socket: Socket) => {
    while (!socket.destroyed) {
      if (!socket.write(piece)) await Promise.race([once(socket, "drain"), once(socket, "close")]).catch(() => {});
    }
  };
  const strange: readonly { what: string; answer: (socket: Socket) => unknown; result: object }[] = [
    {
      what: "another protocol",
      answer: (socket) => socket.write("HTTP/1.1 101 Other\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n"),
      result: { ok: false, status: 101, error: "The receiver answered 101." },
    },
    {
      what: "interim answers without end",
      answer: endless("HTTP/1.1 103 Wait\r\n\r\n".repeat(1000)),
      result: { ok: false, status: null, error: "The receiver sent more than 64 KiB and has not answered yet." },
    },
    {
      what: "a refusal of tiny chunks without end",
      answer: (socket) => {
        socket.write("HTTP/1.1 400 No\r\ntransfer-encoding: chunked\r\n\r\n");
        return endless("1\r\nx\r\n".repeat(1000))(socket);
      },
      result: { ok: false, status: 400 },
    },
    {
      what: "the end of the connection",
      answer: (socket) => socket.end(),
      result: { ok: false, status: null, error: "The receiver could not be reached: ECONNRESET." },
    },
  ];
  for (const { what, answer, result } of strange)
    it(`ends in one attempt, without waiting for its timeout, when the receiver answers with ${what}`, async () => {
      const server = createServer((socket) => {
        socket.on("error", () => {});
        socket.once("data", () => void answer(socket));
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      try {
        const send = webhookSender(rules({ networks: ["127.0.0.1"], seconds: 600 }));
        const got = await send({ ...delivery, url: `http://127.0.0.1:${port}/` }, never);
        assert.deepEqual({ ...got, ...result }, got);
      } finally {
        server.close();
      }
    });

  it("ends when the receiver sends TLS session tickets but no answer", { skip }, async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-webhook-"));
    t.after(() => rm(folder, { recursive: true }));
    const certificate = await makeCertificate(folder, "receiver");
    // A Node server cannot be configured to send a given number of tickets.
    const server = spawn("python3", ["-c", ticketServer, certificate.certFile, certificate.keyFile], { stdio: "pipe" });
    t.after(() => server.kill("SIGKILL"));
    const [port] = (await once(server.stdout, "data")) as [Buffer];
    const send = webhookSender(rules({ networks: ["127.0.0.1"], seconds: 600 }));
    const url = `https://127.0.0.1:${port.toString().trim()}/`;
    const { ok, error } = await send({ ...delivery, url, verifyTls: false }, never);
    assert.deepEqual([ok, error], [false, "The receiver sent more than 128 KiB and has not answered yet."]);
  });

  it("checks the certificate of its receiver unless that is disabled", { skip }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "millrace-webhook-"));
    const secured = await Receiver.start(await makeCertificate(folder, "receiver"));
    try {
      const send = webhookSender(rules({ networks: ["127.0.0.1"] }));
      const asked = { ...delivery, url: secured.url("/", "https") };
      assert.match((await send(asked, never)).error ?? "", /could not be reached: (DEPTH_ZERO_)?SELF_SIGNED/);
      assert.equal(secured.received.length, 0);
      assert.equal((await send({ ...asked, verifyTls: false }, never)).ok, true);
    } finally {
      await secured.stop();
      await rm(folder, { recursive: true });
    }
  });
});
