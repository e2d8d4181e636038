/** A whole log in a browser: its cost for the server, whoever reads it. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { createJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { MaskedLog } from "../../src/logs/masked-log.ts";
import { startInProcess } from "../support/in-process.ts";
import { addPerson, Visitor } from "../support/people.ts";

const size = 30_000_000;
const password = "correct horse battery";

it("a whole log that a browser opens is read piece by piece, never as a whole", { timeout: 120_000 }, async (t) => {
  const server = await startInProcess();
  t.after(() => server.dispose());
  const client = await server.client();
  const job = await createJob(client, shell(`yes 0123456789 | head -c ${size}`));
  assert.equal((await waitForEnd(client, job.id)).status, "COMPLETE");
  await addPerson(server, "vi", { team: "main", role: "viewer", password });
  const visitor = new Visitor(server.url);
  await visitor.post("/auth/sign-in", { username: "vi", password });

  const read = t.mock.method(MaskedLog.prototype, "read");
  const page = await visitor.get(`/api/datachain/jobs/${job.id}/logs?team_name=main`);
  assert.equal(page.headers.get("content-type"), "text/plain; charset=utf-8");
  assert.equal(await page.text(), "0123456789\n".repeat(size / 11 + 1).slice(0, size));
  const lengths = read.mock.calls.map(({ arguments: [, length] }) => length);
  assert.ok(lengths.length > size / (256 * 1024), `${lengths.length} reads`);
  assert.ok(Math.max(...lengths) <= 256 * 1024, `${Math.max(...lengths)} bytes at once`);
});
