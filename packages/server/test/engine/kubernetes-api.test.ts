/**
 * How the Kubernetes engine reaches an API server: kubeconfigs, credentials, pages of lists, refusals. A real HTTPS
 * server with real certificates answers here; it is NOT Kubernetes. test/long/engine-kubernetes.test.ts has a real one.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { inspect } from "node:util";
import { whyNoCertificates } from "@millrace/testing/programs/certificates.ts";
import { Authority } from "@millrace/testing/servers/kubernetes/certificates.ts";
import { EngineUnreachable } from "../../src/engines/engine.ts";
import { readKubeconfig } from "../../src/engines/kubernetes/kubeconfig.ts";
import { KubernetesApi, Refused } from "../../src/engines/kubernetes/kubernetes-api.ts";

interface Answer {
  readonly status?: number;
  readonly body: unknown;
}

describe("the client of the Kubernetes API", { skip: await whyNoCertificates() }, () => {
  let folder: string;
  let authority: Authority;
  let server: Server;
  let url: string;
  let asked: string[];
  let answer: (request: IncomingMessage) => Answer;
  const opened: KubernetesApi[] = [];

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-kubeconfig-"));
    authority = await Authority.make(folder);
    await authority.sign("server", "/CN=server", "IP:127.0.0.1");
    await authority.sign("ada", "/CN=ada");
    const [ca, cert, key] = await Promise.all(["ca.crt", "server.crt", "server.key"].map(authority.read));
    const files = { ca, cert, key } as { ca: string; cert: string; key: string };
    server = createServer({ ...files, requestCert: true, rejectUnauthorized: false }, (request, response) => {
      asked.push(`${request.method} ${request.url}`);
      const { status = 200, body } = answer(request);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  beforeEach(() => {
    asked = [];
    answer = whoAsks;
  });
  after(async () => {
    for (const api of opened) await api.close();
    server.close();
    await rm(folder, { recursive: true });
  });

  /** Answers with the name in the client's certificate and with its token. */
  const whoAsks = ({ socket, headers }: IncomingMessage): Answer => ({
    body: {
      name: (socket as TLSSocket).getPeerCertificate().subject?.CN ?? null,
      token: headers.authorization ?? null,
    },
  });
  const withUser = async (user: object) => open(await authority.kubeconfigFor(url, "jobs", user));
  const open = (kubeconfig: string, podFolder?: string) => {
    const api = new KubernetesApi({ kubeconfig, context: "", ...(podFolder === undefined ? {} : { podFolder }) });
    opened.push(api);
    return api;
  };
  const isUnreachable = (words: RegExp) => (error: Error) =>
    error instanceof EngineUnreachable && words.test(error.message);

  it("gives up a list that never ends, and an answer that is not a list", async () => {
    const api = open(await authority.kubeconfig("ada", url, "jobs"));
    answer = () => ({ body: { items: [], metadata: { continue: "more" } } });
    await assert.rejects(api.list("/pods", {}), isUnreachable(/the list \/pods does not end/));
    assert.equal(asked.length, 400);
    for (const body of [null, 5, {}, { items: {} }, { items: [null] }, { items: [{ metadata: 5 }] }]) {
      answer = () => ({ body });
      await assert.rejects(api.list("/pods", {}), isUnreachable(/other than a list/), JSON.stringify(body));
    }
  });

  it("presents a client certificate", async () => {
    const api = open(await authority.kubeconfig("ada", url, "jobs"));
    assert.deepEqual(await api.call("GET", "/who"), { name: "ada", token: null });
    assert.equal(await api.namespace(), "jobs");
  });

  it("presents a token, and reads a token file again for each request", async () => {
    assert.deepEqual(await (await withUser({ token: "t1" })).call("GET", "/who"), { name: null, token: "Bearer t1" });
    const tokenFile = join(folder, "token");
    const api = await withUser({ tokenFile });
    for (const token of ["first", "second"]) {
      await writeFile(tokenFile, `${token}\n`);
      assert.deepEqual(await api.call("GET", "/who"), { name: null, token: `Bearer ${token}` });
    }
  });

  it("runs a program for its credential once, and again when the API server no longer accepts it", async () => {
    const program = `printf '{"status": {"token": "%s-%s"}}' "$WHO" "$(echo >>${folder}/runs; wc -l <${folder}/runs)"`;
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "sh", args: ["-c", program] };
    const api = await withUser({ exec: { ...exec, env: [{ name: "WHO", value: "plugin" }] } });
    answer = (request) =>
      asked.length === 3
        ? { status: 401, body: { reason: "Unauthorized", message: "Unauthorized" } }
        : whoAsks(request);
    const tokens = [];
    for (let round = 0; round < 3; round++) tokens.push((await api.call<{ token: string }>("GET", "/who")).token);
    assert.deepEqual(tokens, ["Bearer plugin-1", "Bearer plugin-1", "Bearer plugin-2"]);
  });

  it("runs the program again when the credential has expired, and uses a certificate that it prints", async () => {
    const status = {
      clientCertificateData: await authority.read("ada.crt"),
      clientKeyData: await authority.read("ada.key"),
      expirationTimestamp: new Date(Date.now() + 1000).toISOString(),
    };
    await writeFile(join(folder, "credential"), JSON.stringify({ status }));
    const program = `echo >>${folder}/expired; cat ${folder}/credential`;
    const api = await withUser({ exec: { apiVersion: "v1", command: "sh", args: ["-c", program] } });
    for (let round = 0; round < 2; round++)
      assert.deepEqual(await api.call("GET", "/who"), { name: "ada", token: null });
    assert.equal(await readFile(join(folder, "expired"), "utf8"), "\n\n");
  });

  it("says why a program gave no credential, without what it printed", async () => {
    const failing = await withUser({ exec: { apiVersion: "v1", command: "no-such-program", args: [] } });
    await assert.rejects(failing.call("GET", "/who"), isUnreachable(/no-such-program/));
    const chatty = await withUser({ exec: { apiVersion: "v1", command: "echo", args: ["hunter2"] } });
    await assert.rejects(chatty.call("GET", "/who"), (error: Error) => !/hunter2/.test(error.message));
    const loud = "echo swordfish >&2; exit 3";
    const broken = await withUser({
      exec: { apiVersion: "v1", command: "sh", args: ["-c", loud, "--secret=hunter2"] },
    });
    const failure = await broken.call("GET", "/who").catch((error: Error) => error);
    assert.match(String(failure), /the program sh of the kubeconfig failed: exit code 3/);
    assert.doesNotMatch(inspect(failure, { depth: 9 }), /hunter2|swordfish/, "nor in what is logged");
  });

  it("uses the account of its own pod if there is no kubeconfig", async () => {
    await assert.rejects(open("", join(folder, "nowhere")).call("GET", "/who"), isUnreachable(/does not run in a pod/));
    await writeFile(join(folder, "namespace"), "millrace\n");
    assert.equal(await open("", folder).namespace(), "millrace");
  });

  it("does not talk to a server whose certificate comes from somebody else", async () => {
    const strange = JSON.parse(await authority.kubeconfigFor(url, "jobs", { token: "secret" }));
    delete strange.clusters[0].cluster["certificate-authority-data"];
    await assert.rejects(open(JSON.stringify(strange)).call("GET", "/who"), isUnreachable(/certificate/));
    assert.deepEqual(asked, []);
    strange.clusters[0].cluster["insecure-skip-tls-verify"] = true;
    assert.deepEqual(await open(JSON.stringify(strange)).call("GET", "/who"), { name: null, token: "Bearer secret" });
  });

  it("reads lists page by page, and from the beginning if the pages have expired", async () => {
    const pages = ["", "a", "gone", "", "a", "b"];
    answer = ({ url: path = "" }) => {
      const page = new URL(path, url).searchParams.get("continue") ?? "";
      if (asked.length === 3) return { status: 410, body: { reason: "Expired", message: "too old" } };
      const next = pages[asked.length] || undefined;
      return { body: { items: [{ metadata: { name: page } }], metadata: { continue: next } } };
    };
    const { items, now } = await (await withUser({ token: "t" })).list("/things", { labelSelector: "x=y" });
    assert.deepEqual(
      items,
      ["", "a", "b"].map((name) => ({ metadata: { name } })),
    );
    assert.ok(Math.abs(now - Date.now()) < 3_600_000);
    assert.equal(asked.length, 6);
    assert.ok(
      asked.every((line) => line.includes("labelSelector=x%3Dy") && line.includes("limit=500")),
      asked.join(),
    );
  });

  it("tells a refusal from a server that is busy, broken or away", async () => {
    const api = await withUser({ token: "t" });
    for (const [status, isRefusal] of [
      [403, true],
      [404, true],
      [409, true],
      [422, true],
      [401, false],
      [429, false],
      [500, false],
    ] as const) {
      answer = () => ({ status, body: { reason: "Because", message: `said ${status}` } });
      await assert.rejects(api.call("POST", "/things", { body: {} }), (error: Error) =>
        isRefusal
          ? error instanceof Refused && error.status === status && error.reason === "Because"
          : isUnreachable(new RegExp(`said ${status}`))(error),
      );
    }
    const away = open(await authority.kubeconfigFor("https://127.0.0.1:1", "jobs", { token: "secret" }));
    await assert.rejects(away.call("GET", "/things"), isUnreachable(/^Kubernetes at https:\/\/127\.0\.0\.1:1: /));
  });
});

describe("a kubeconfig", () => {
  const config = (cluster: object, user: object) =>
    JSON.stringify({
      clusters: [{ name: "c", cluster: { server: "https://k:6443/", ...cluster } }],
      users: [{ name: "u", user }],
      contexts: [
        { name: "one", context: { cluster: "c", user: "u" } },
        { name: "two", context: { cluster: "c", user: "u", namespace: "n" } },
        { name: "broken", context: { cluster: "c", user: "nobody" } },
      ],
      "current-context": "one",
    });

  it("has several contexts, of which one is used", () => {
    const text = config({}, { token: "t" });
    assert.deepEqual([readKubeconfig(text, "").namespace, readKubeconfig(text, "two").namespace], ["default", "n"]);
    assert.equal(readKubeconfig(text, "").server, "https://k:6443");
    assert.throws(() => readKubeconfig(text, "three"), /no context "three"/);
    assert.throws(() => readKubeconfig(text, "broken"), /no user "nobody"/);
  });

  it("is refused, with what to do instead, if it would not work on the server", () => {
    const advice = /kubectl config view --raw --minify --flatten -o json/;
    assert.throws(() => readKubeconfig("apiVersion: v1", ""), advice);
    assert.throws(() => readKubeconfig(config({ "certificate-authority": "/home/ada/ca.crt" }, {}), ""), advice);
    assert.throws(() => readKubeconfig(config({}, { "client-key": "/home/ada/key" }), ""), advice);
    assert.throws(() => readKubeconfig(config({}, { username: "ada" }), ""), /username, which is not supported/);
    assert.throws(() => readKubeconfig(config({ "proxy-url": "http://p" }, {}), ""), /proxy-url/);
    assert.throws(() => readKubeconfig(config({ server: "k:6443" }, {}), ""), /address of a server/);
  });

  it("does not appear in the message about it", () => {
    assert.throws(
      () => readKubeconfig('{"token": "hunter2"', ""),
      (error: Error) => !/hunter2/.test(error.message),
    );
  });
});
