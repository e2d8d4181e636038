/** Host names that the server accepts: not a name of somebody else that resolves to this machine. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ApiError } from "@millrace/contract";
import { hostCheck } from "../../src/http/connections/hosts.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";
import { head, openRaw } from "../support/raw-http.ts";

const upgrade = { connection: "Upgrade", upgrade: "websocket", "sec-websocket-version": 13 };

async function statusFor(server: InProcessServer, host: string, path: string, headers = {}): Promise<string> {
  const raw = await openRaw(server.url, head(`GET ${path}`, { host, ...headers }));
  const answer = await raw.until(/\r\n\r\n/);
  raw.socket.destroy();
  return answer.slice(9, 12);
}

describe("a Host header", { timeout: 60_000 }, () => {
  it("with an unknown name is a 421: for the API, pages, unknown paths and log sockets", async () => {
    const server = await startInProcess();
    const authorization = `Bearer ${await server.token()}`;
    for (const path of ["/healthz", "/api/whoami", "/auth/sign-in", "/api/openapi.json", "/nothing"])
      assert.equal(await statusFor(server, "rebound.example:8484", path, { authorization }), "421", path);
    const follow = "/api/logs/follow/?job_id=x&team_name=main";
    assert.equal(await statusFor(server, "rebound.example", follow, { ...upgrade, authorization }), "421");
    assert.equal(await statusFor(server, "localhost", "/api/whoami", { authorization }), "200");
    await server.dispose();
  });

  const accepts = (settings: { host?: string; publicUrl?: string; allowedHosts?: string[] }, header?: string) => {
    try {
      hostCheck({ host: "127.0.0.1", publicUrl: "", allowedHosts: [], ...settings })(header);
      return true;
    } catch (error) {
      assert.equal((error as ApiError).code, "misdirected");
      return false;
    }
  };

  it("with an address or a name of the machine itself is accepted, because nobody can make these resolve elsewhere", () => {
    for (const header of ["127.0.0.1:8484", "localhost", "LOCALHOST:1", "localhost.", "a.localhost:80", "[::1]:8484"])
      assert.ok(accepts({}, header), header);
    for (const header of ["10.1.2.3:8484", "[fe80::1]", undefined]) assert.ok(accepts({}, header), String(header));
  });

  it("may have the name of the public URL, the allowed names, and the name that the server listens on", () => {
    const settings = { publicUrl: "https://Runs.example.com/x", allowedHosts: ["runs.internal"] };
    for (const header of ["runs.example.com", "runs.example.com:443", "runs.internal:8484"]) {
      assert.ok(accepts(settings, header), header);
      assert.ok(!accepts({}, header), header);
    }
    assert.ok(!accepts(settings, "internal"));
    assert.ok(accepts({ host: "Runs.local", allowedHosts: ["x"] }, "runs.local:8484"));
  });

  it("is not checked if the server is open to other machines and has no configured name", () => {
    for (const host of ["0.0.0.0", "::", "10.1.2.3"]) {
      assert.ok(accepts({ host }, "anything.example"));
      assert.ok(!accepts({ host, publicUrl: "https://runs.example.com" }, "anything.example"));
    }
    for (const host of ["::1", "[::1]", "127.0.0.2", "localhost"]) assert.ok(!accepts({ host }, "anything.example"));
  });
});
