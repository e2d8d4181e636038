/** `millrace job ls`: finding jobs by text, tags, time, cluster and parent. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Job } from "@millrace/contract";
import { createJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace job ls", () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);

  test("finds jobs by the tags of job run, and combines its filters", async () => {
    const cli = await commandLine();
    await cli.write("load.sh", "echo needle\n");
    const id = (await cli.print("job", "run", "load.sh", "--no-wait", "--tag", "nightly", "eu/west")).trim();
    await createJob(suite.api, shell("echo hay", { tags: ["nightly"] }));
    const found = async (...flags: string[]) => (await cli.json<Job[]>("job", "ls", ...flags)).map((job) => job.id);
    assert.deepEqual(await found("--search", "NEEDLE"), [id]);
    assert.deepEqual(await found("--tag", "nightly", "eu/west"), [id]);
    assert.deepEqual(await found("--tag", "nightly", "--search", "hay", "--created-by", "nobody"), []);
    assert.equal((await found("--tag", "nightly", "--since", "1 hour ago", "--cluster", "local")).length, 2);
    assert.deepEqual(await found("--tag", "nightly", "--until", "yesterday"), []);
    assert.deepEqual(await found("--parent", id), []);
    assert.match(await cli.print("job", "show", id), /^tags\tnightly, eu\/west$/m);
  });

  test("refuses an invalid time and an unknown cluster", async () => {
    const cli = await commandLine();
    assert.match(
      await cli.refused(64, "job", "ls", "--since", "soon"),
      /--since: 'soon' is not a valid time[\s\S]*hours ago/,
    );
    assert.match(await cli.refused(1, "job", "ls", "--cluster", "moon"), /cluster: expected one of local/);
  });
});
