/** `millrace job run --repository URL@branch --script PATH` with a real repository and the real library. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { promisify } from "node:util";
import { type Job, routes } from "@millrace/contract";
import { readLog } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

const skip = await whyNoDatachain();

describe("millrace job run --script", { skip }, () => {
  const suite = ClientSuite.use({ ...withLibrary, MILLRACE_MAX_WORKERS: "1" });
  const commandLine = Millrace.useWith(suite);

  test("runs the Python script of the branch, which creates datasets; a rerun reads it again", async () => {
    const cli = await commandLine();
    const place = join(suite.shared, "etl");
    const git = (...words: string[]) =>
      promisify(execFile)("git", ["-C", place, "-c", "user.name=t", "-c", "user.email=t@t", ...words]);
    const commit = async (text: string) => {
      await writeFile(join(place, "etl/report.py"), text);
      await writeFile(join(place, "etl/words.py"), 'who = "the module beside it"\n');
      await git("add", "-A");
      await git("commit", "-qm", "a change");
    };
    await mkdir(join(place, "etl"), { recursive: true });
    await git("init", "-q", "-b", "main");
    const body = "import datachain as dc\nfrom words import who\n";
    await commit(`${body}print("one, with", who)\ndc.read_values(n=[1, 2]).save("report")\n`);
    const words = ["--repository", `file://${place}@main`, "--script", "etl/report.py"];
    const job = await cli.json<Job>("job", "run", ...words, "--no-follow");
    const log = await readLog(suite.api, job.id);
    assert.deepEqual([job.status, job.script, job.name], ["COMPLETE", "etl/report.py", "report.py"], log);
    assert.match(log, /^one, with the module beside it$/m);
    const [version] = await suite.api.call(routes.listDatasets, { query: {} });
    assert.equal(version?.name, "report");
    await commit(`${body}print("two")\n`);
    const again = await cli.json<Job>("job", "rerun", job.id, "--no-follow");
    assert.match(await readLog(suite.api, again.id), /^two$/m);
  });
});
