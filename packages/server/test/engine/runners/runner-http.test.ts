/** How a runner reaches its server: through proxies, encrypted, and whatever form the answers have. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import { type AddressInfo, connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { makeCertificate, whyNoCertificates } from "@millrace/testing/programs/certificates.ts";
import type { RunnerEngine } from "../../../src/engines/runners/runner-engine.ts";
import { type RunnerGround, runnerGround, untilState } from "./runner-ground.ts";

describe("a runner reaches its server", { skip: await whyNoCertificates() }, () => {
  let ground: RunnerGround;
  const fronts: Server[] = [];
  before(async () => {
    ground = await runnerGround();
  });
  after(async () => {
    for (const front of fronts) {
      front.closeAllConnections();
      front.close();
    }
    await ground.stop();
  });

  /** Starts a server before the server, and returns its port. */
  async function start(front: Server): Promise<number> {
    fronts.push(front);
    await once(front.listen(0, "127.0.0.1"), "listening");
    return (front.address() as AddressInfo).port;
  }

  /** Passes a request on. Node sends an answer without a length in chunks. */
  function passOn(asked: IncomingMessage, answer: ServerResponse, headers: Record<string, string> = {}): void {
    const { pathname, search } = new URL(asked.url ?? "", "http://front");
    const to = { method: asked.method, headers: { ...asked.headers, host: new URL(ground.server.url).host } };
    const passed = request(`${ground.server.url}${pathname}${search}`, to, (got) => {
      const { "content-length": _length, connection: _connection, ...rest } = got.headers;
      answer.writeHead(got.statusCode ?? 500, { ...rest, ...headers });
      got.pipe(answer);
    });
    asked.pipe(passed);
  }

  /** Runs a job whose log has some pieces, with these variables of its machine. */
  async function runs(url: string, variables: Record<string, string> = {}): Promise<void> {
    const engine = await ground.open({ url: () => url });
    await withVariables(variables, () => runWith(engine));
  }

  async function runWith(engine: RunnerEngine): Promise<void> {
    const job = ground.spec("seq 1 400000");
    await engine.submit(job);
    assert.equal((await untilState(engine, job.key, "EXITED")).exit.code, 0);
    assert.equal(String(await ground.log(job.key)), numbers(400_000));
  }

  /** The placer gives these variables to its runners. */
  async function withVariables(variables: Record<string, string>, work: () => Promise<void>): Promise<void> {
    const { placer } = ground;
    const place = placer.place;
    placer.place = (placement) =>
      place.call(placer, { ...placement, variables: { ...placement.variables, ...variables } });
    await work().finally(() => {
      placer.place = place;
    });
  }

  it("that answers in chunks, and closes the connection or keeps it", async () => {
    let count = 0;
    const front = createServer((asked, answer) => {
      answer.writeProcessing();
      passOn(asked, answer, count++ % 2 === 0 ? { connection: "close" } : {});
    });
    await runs(`http://127.0.0.1:${await start(front)}`);
    assert.ok(count >= 3);
  });

  it("below a path, and over TLS", async () => {
    const certificate = await makeCertificate(ground.folder, "front");
    const paths: string[] = [];
    const front = createTlsServer(certificate, (asked, answer) => {
      paths.push(asked.url ?? "");
      asked.url = asked.url?.replace("/millrace", "") ?? "";
      passOn(asked, answer);
    });
    await runs(`https://localhost:${await start(front)}/millrace/`, { SSL_CERT_FILE: certificate.certFile });
    assert.ok(paths.every((path) => path.startsWith("/millrace/api/runner/")));
  });

  it("through the proxy that its machine names, with name and password", async () => {
    const seen: (string | undefined)[] = [];
    const front = createServer((asked, answer) => {
      seen.push(asked.url, asked.headers["proxy-authorization"]);
      passOn(asked, answer);
    });
    const port = await start(front);
    await runs("http://millrace.test:1234", { http_proxy: `http://user:p%40ss@127.0.0.1:${port}` });
    assert.match(seen[0] ?? "", /^http:\/\/millrace\.test:1234\/api\/runner\/claim\?/);
    assert.equal(seen[1], `Basic ${btoa("user:p@ss")}`);
  });

  it("through a tunnel, if the proxy must not read what is encrypted", async () => {
    const certificate = await makeCertificate(ground.folder, "tunnel");
    const port = await start(createTlsServer(certificate, passOn));
    const tunnels: (string | undefined)[] = [];
    const front = createServer();
    front.on("connect", (asked, socket) => {
      tunnels.push(asked.url);
      const target = connect(port, "127.0.0.1", () => {
        socket.write("HTTP/1.1 200 Connected\r\n\r\n");
        socket.pipe(target).pipe(socket);
      });
      for (const end of [socket, target]) end.on("error", () => end.destroy());
    });
    const proxy = `http://127.0.0.1:${await start(front)}`;
    await runs("https://localhost:9", { HTTPS_PROXY: proxy, SSL_CERT_FILE: certificate.certFile });
    assert.equal(tunnels[0], "localhost:9");
  });

  it("directly, if the proxy speaks something else than HTTP", () =>
    runs(ground.server.url, { all_proxy: "socks5://127.0.0.1:9" }));

  it("that takes only small pieces of a log", async () => {
    const small = await runnerGround({}, { MILLRACE_BODY_LIMIT: "64KiB" });
    const job = small.spec("seq 1 100000");
    await small.engine.submit(job);
    assert.equal((await untilState(small.engine, job.key, "EXITED")).exit.code, 0);
    assert.equal(String(await small.log(job.key)), numbers(100_000));
    await small.stop();
  });
});

const numbers = (most: number) => [...Array(most).keys()].map((index) => `${index + 1}\n`).join("");
