/** `millrace admin rotate-key`: encrypts every secret of the store with a new key, even if it is interrupted. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { createJob, readJob, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { millrace, type ServerOptions, TestServer } from "@millrace/testing/millrace/server.ts";
import { startPostgres } from "@millrace/testing/servers/postgres.ts";
import { Millrace } from "./support/millrace.ts";

interface Rotation {
  keyId: string;
  changed: number;
  finished: boolean;
}

const jobs = 450;

/** A server with a few hundred secrets: several batches. */
async function withSecrets(options: ServerOptions = {}) {
  const server = await TestServer.start(options);
  const client = await server.client();
  await client.call(routes.setTeamCredentials, { body: { name: "set", values: { V: "of-the-set" } } });
  const tasks = [];
  // Tasks store an environment and run nothing.
  for (let i = 0; i < jobs; i++) {
    tasks.push(createJob(client, shell(":", { environment: `V=number-${i}`, start_after: "2090-01-01T00:00:00Z" })));
  }
  const ids = (await Promise.all(tasks)).map(({ id }) => id);
  await runJob(client, shell(":", { credentials_name: "set" }));
  return { server, client, ids };
}

async function rotate(
  server: TestServer,
  fault = "",
): Promise<{ code: number | null; signal: string | null; out: string }> {
  const env = { ...server.settings, MILLRACE_FAULT: fault };
  const child = spawn(millrace, ["admin", "rotate-key", "--json"], { env, stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.on("data", (bytes: Buffer) => {
    out += bytes.toString();
  });
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  return { code, signal, out };
}

const keysIn = async ({ dataDir }: TestServer) =>
  (await readFile(join(dataDir, "secret.key"), "utf8")).trim().split("\n").length;

/** Every environment is readable, and the credentials reach a job. */
async function assertReadable(client: Client, ids: readonly string[]): Promise<void> {
  const listed = await client.call(routes.listJobs, { query: { status: ["TASK"], limit: 10_000 } });
  const values = new Map(listed.map((job) => [job.id, job.environment["V"]]));
  for (const [index, id] of ids.entries()) assert.equal(values.get(id), `number-${index}`);
  const job = await createJob(client, shell('[ "$V" = of-the-set ]', { credentials_name: "set" }));
  assert.equal((await waitForEnd(client, job.id)).status, "COMPLETE");
}

describe("millrace admin rotate-key", () => {
  const commandLine = Millrace.use();

  test("killed anywhere leaves everything readable with the server running, and completes when it is run again", async () => {
    const { server, client, ids } = await withSecrets();
    const faults = ["key-added:1", "values-encrypted:1", "values-encrypted:2", "key-unused:1", "key-dropped:1"];
    for (const fault of faults) {
      const before = await readFile(join(server.dataDir, "secret.key"), "utf8");
      const { signal } = await rotate(server, fault);
      assert.equal(signal, "SIGKILL", fault);
      assert.notEqual(await readFile(join(server.dataDir, "secret.key"), "utf8"), before);
      await assertReadable(client, ids);
      const again = JSON.parse((await rotate(server)).out) as Rotation;
      assert.equal(again.finished, true, fault);
      assert.equal(await keysIn(server), 1);
      await assertReadable(client, ids);
    }
    await server.restart();
    await assertReadable(client, ids);
    await server.dispose();
  });

  test("works with the server stopped, reports what it did, and works twice in a row", async () => {
    const { server, client, ids } = await withSecrets();
    await server.stop();
    const child = spawn(millrace, ["admin", "rotate-key"], {
      env: server.settings,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [said] = (await once(child.stdout, "data")) as [Buffer];
    await once(child, "close");
    assert.match(
      said.toString(),
      /^All readable values are encrypted with the key [0-9a-f]{12} \(452 re-encrypted\)\n/,
    );
    const second = JSON.parse((await rotate(server)).out) as Rotation;
    assert.deepEqual([second.changed, second.finished], [452, true]);
    await server.start();
    await assertReadable(client, ids);
    await server.dispose();
  });

  test("run twice concurrently, while jobs are created, loses nothing", async () => {
    const postgres = await startPostgres();
    const { server, client, ids } = await withSecrets({ databaseUrl: await postgres.createDatabase() });
    let busy = true;
    const created: Promise<string>[] = [];
    const create = async () => {
      for (let i = 0; busy; i++) {
        const input = shell(":", { environment: `V=late-${i}`, start_after: "2090-01-01T00:00:00Z" });
        created.push(createJob(client, input).then(({ id }) => id));
        await created.at(-1);
      }
    };
    const creating = create();
    const results = await Promise.all([rotate(server), rotate(server)]);
    assert.deepEqual(
      results.map(({ code }) => code),
      [0, 0],
    );
    busy = false;
    await creating;
    await rotate(server);
    assert.equal(await keysIn(server), 1);
    await assertReadable(client, ids);
    const late = await Promise.all(created);
    assert.ok(late.length > 0);
    for (const [index, id] of late.entries())
      assert.equal((await readJob(client, id)).environment["V"], `late-${index}`);
    await server.dispose();
    await postgres.stop();
  });

  test("creates no key if no server was ever started", async () => {
    const cli = await commandLine({ env: { MILLRACE_DATA_DIR: "nowhere" } });
    assert.match(await cli.refused(1, "admin", "rotate-key"), /Could not rotate the key\n.*There is no database in/);
    const server = await TestServer.start();
    const flags = ["--data-dir", server.dataDir];
    const elsewhere = await commandLine({ env: { MILLRACE_SECRET_KEY_FILE: "elsewhere.key" } });
    const said = await elsewhere.refused(1, "admin", "rotate-key", ...flags);
    await server.dispose();
    assert.match(said, /Could not rotate the key\n.*There is no key file \S+elsewhere\.key/);
  });
});
