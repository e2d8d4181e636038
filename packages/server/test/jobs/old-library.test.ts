/**
 * Releases of the library that are too old for Millrace: refused wherever they can be named, and before a warehouse is
 * touched.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Client, routes } from "@millrace/contract";
import { python, runJob } from "@millrace/testing/millrace/jobs.ts";
import { makeWheel } from "@millrace/testing/programs/wheels.ts";
import { readConfig } from "../../src/configuration/config.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

describe("a library that is too old", () => {
  let server: InProcessServer;
  let admin: Client;
  let host: Server;
  before(async () => {
    server = await startInProcess({ MILLRACE_UV: "machine" });
    admin = await server.client();
    // A package with the name of the release; only its name is read.
    const { path } = await makeWheel(server.dataDir, "datachain", "0.56.0", "");
    host = createServer((_, response) => createReadStream(path).pipe(response));
    host.listen(0, "127.0.0.1");
    await once(host, "listening");
  });
  after(async () => {
    host.close();
    await server.dispose();
  });

  const refusal = async (path: string, json: object) => {
    const response = await server.fetch(path, { json: { team_name: "main", ...json } });
    return [response.status, ((await response.json()) as { message: string }).message];
  };

  it("is refused when a job is created", async () => {
    const [status, message] = await refusal(
      "/api/datachain/jobs/",
      python("import datachain", { requirements: "datachain==0.55.0" }),
    );
    assert.equal(status, 422);
    assert.match(
      String(message),
      /^requirements: expected datachain 0\.56\.1 or newer, or datachain without a version \(.*0\.55\.0/,
    );
  });

  it("is refused when the script's own metadata requests it", async () => {
    const script = '# /// script\n# dependencies = ["datachain==0.55.0"]\n# ///\nimport datachain\n';
    const [status, message] = await refusal("/api/datachain/jobs/", python(script));
    assert.deepEqual(
      [status, String(message).split(",")[0]],
      [422, "requirements: expected datachain 0.56.1 or newer"],
    );
  });

  it("is refused when a team pins it, and when the server is configured with it", async () => {
    const change = (library_version: string) =>
      admin.call(routes.updateTeam, { params: { team_name: "main" }, body: { library_version } });
    await assert.rejects(change("0.56.0"), /library_version: expected 0\.56\.1 or newer/);
    assert.equal((await change("0.56.1")).library_version, "0.56.1");
    assert.equal((await change("")).library_version, null);
    assert.throws(() => readConfig({}, { MILLRACE_LIBRARY_VERSION: "0.55.0" }), /expected 0\.56\.1 or newer/);
  });

  it("that gets into a job in another way ends the job before it touches the team's warehouse", async () => {
    const { port } = host.address() as AddressInfo;
    const requirements = `datachain @ http://127.0.0.1:${port}/datachain-0.56.0-py3-none-any.whl`;
    const { job, log } = await runJob(admin, python("import datachain\nprint('ran')\n", { requirements }));
    assert.equal(job.status, "FAILED", log);
    assert.match(job.error_message ?? "", /This job has datachain 0\.56\.0, and Millrace works with 0\.56\.1 or newer/);
    assert.doesNotMatch(log, /^ran$/m);
    const files = await readdir(join(server.dataDir, "team-stores"), { recursive: true, withFileTypes: true });
    assert.deepEqual(
      files.filter((entry) => entry.isFile()).map(({ name }) => name),
      [],
    );
  });
});
