/** Open files of the server: as many as the machine allows, and never all of them for connections. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createJob, readJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { TestServer } from "@millrace/testing/millrace/server.ts";
import { connectionsWithin, openFilesLimit } from "../../src/machine/open-files.ts";
import { head, openRaw, type RawConnection } from "../support/raw-http.ts";

const skip = process.platform === "linux" ? false : "needs /proc";

describe("open files", { skip, timeout: 180_000 }, () => {
  it("may reach the hard limit, even if the server is started with a lower soft limit", async () => {
    const server = await TestServer.start({ ulimit: "-Sn 300", env: { MILLRACE_ISOLATION: "none" } });
    const limits = await readFile(`/proc/${server.pid}/limits`, "utf8");
    await server.dispose();
    const [, soft, hard] = /^Max open files +(\w+) +(\w+)/m.exec(limits) ?? [];
    assert.equal(soft, hard);
    assert.equal(hard, String(openFilesLimit()));
  });

  it("are reserved for jobs, however many connections there are", async () => {
    const env = { MILLRACE_ISOLATION: "none", MILLRACE_RESERVED_FILES: "200" };
    const server = await TestServer.start({ ulimit: "-n 300", env });
    const client = await server.client();
    const connections: RawConnection[] = [];
    try {
      const { id } = await createJob(client, shell("sleep 3; echo begun"));
      const later = await createJob(client, shell("echo here", { start_after: inSeconds(4) }));
      for (let index = 0; index < 500; index++)
        connections.push(await openRaw(server.url, head("POST /api/device-login", { "content-length": 9 })));
      const open = await readdir(`/proc/${server.pid}/fd`);
      assert.ok(open.length < 300 - 100, `${open.length} of 300 are open`);
      await logOf(server, /^here/);
      for (const { socket } of connections) socket.destroy();
      assert.equal((await waitForEnd(client, id)).status, "COMPLETE");
      assert.equal((await readJob(client, later.id)).status, "COMPLETE");
    } finally {
      for (const { socket } of connections) socket.destroy();
      await server.dispose();
    }
  });

  it("of connections count two each, and a few connections are accepted under any limit", () => {
    assert.equal(connectionsWithin(1024, 256), 384);
    assert.equal(connectionsWithin(256, 256), 16);
  });
});

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

/** Waits until the log of any job matches: no request gets through meanwhile. */
async function logOf(server: TestServer, pattern: RegExp): Promise<void> {
  const folder = join(server.dataDir, "jobs");
  for (let tries = 0; tries < 600; tries++) {
    const jobs = await readdir(folder);
    const logs = await Promise.all(jobs.map((name) => readFile(join(folder, name, "log"), "utf8").catch(() => "")));
    if (logs.some((log) => pattern.test(log))) return;
    await delay(100);
  }
  assert.fail(`no job ran: ${server.output}`);
}
