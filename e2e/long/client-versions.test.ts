/**
 * Releases of the client, from the oldest that works. The long form of the client suite: see CONTRIBUTING.md.
 * MILLRACE_CLIENT_RELEASES selects others, separated by commas. docs/library.md lists what a release cannot do.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { compareReleases } from "@millrace/contract";
import { createJob, python, runJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { releaseOf, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { ClientSuite } from "../support/client-suite.ts";

const releases = (process.env["MILLRACE_CLIENT_RELEASES"] ?? "0.35.0,0.50.0,0.58.0,0.62.0").split(",");
const unknownId = "00000000-0000-4000-8000-000000000000";

for (const version of releases) {
  const release = releaseOf(version);
  const since = (other: string) => compareReleases(version, other) >= 0;

  describe(`the client ${version}`, { skip: await release.why() }, () => {
    const suite = ClientSuite.use({ ...withLibrary, MILLRACE_MAX_WORKERS: "4" });
    const signedIn = () => suite.client({ release });

    test("runs a job with parameters, files and requirements, and follows it to its end", async () => {
      const client = await signedIn();
      await client.write("words.txt", "words of a file\n");
      await client.write("job.sh", 'cat words.txt\necho "$GREETING"\nsleep 1\necho "the end"\n');
      const words = ["--files", "words.txt", "--env", "GREETING=hello"];
      const { code, stdout, stderr } = await client.run("job", "run", "job.sh", ...words);
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /words of a file\nhello\nthe end\n/);
      assert.match(stdout, /Job is now in COMPLETE status/);
    });

    test("ends with 1 if the job fails", async () => {
      const client = await signedIn();
      await client.write("fails.sh", "echo nearly\nexit 3\n");
      const { code, stdout } = await client.run("job", "run", "fails.sh");
      assert.equal(code, 1);
      assert.match(stdout, /nearly\n[\s\S]*Job is now in FAILED status/);
    });

    test("shows the log of a job that has ended, lists jobs and clusters", async () => {
      const client = await signedIn();
      const { job } = await runJob(suite.api, shell("echo shown"));
      assert.match((await client.run("job", "logs", job.id)).stdout, /shown\n/);
      assert.match((await client.run("job", "ls")).stdout, new RegExp(job.id.slice(0, 8)));
      assert.match((await client.run("job", "clusters")).stdout, /default|local/);
    });

    test("cancels a running job", async () => {
      const client = await signedIn();
      const { id } = await createJob(suite.api, shell("sleep 600"));
      await waitForStatus(suite.api, id, ["RUNNING"]);
      const { code, stdout, stderr } = await client.run("job", "cancel", id);
      assert.equal(code, 0, stdout + stderr);
      assert.equal((await waitForEnd(suite.api, id)).status, "CANCELED");
    });

    test("`job logs` of an unknown id ends with an error", async () => {
      const client = await signedIn();
      const { code, stderr } = await client.run("job", "logs", unknownId);
      assert.notEqual(code, null, "it had to be killed");
      assert.notEqual(code, 0);
      assert.match(stderr, /There is no job/);
    });

    const save = async () => {
      const script = "import datachain as dc\ndc.read_values(n=[3, 1, 2]).save('numbers')\n";
      assert.equal((await runJob(suite.api, python(script))).job.status, "COMPLETE");
    };

    test("lists datasets", async () => {
      await save();
      const client = await signedIn();
      assert.match((await client.run("dataset", "ls", "--studio")).stdout, /@admin\.default\.numbers/);
    });

    test("downloads a dataset with equal rows", {
      skip: !since("0.50.0") && "this release asks otherwise",
    }, async () => {
      const client = await signedIn();
      const read = 'print(sorted(dc.read_dataset("@admin.default.numbers").to_values("n")))';
      const { code, stdout, stderr } = await client.script(`import datachain as dc\n${read}`);
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /\[1, 2, 3\]\n$/);
    });

    test("creates a pipeline of a dataset", { skip: !since("0.50.0") && "this release has no pipelines" }, async () => {
      const client = await signedIn();
      const { code, stdout, stderr } = await client.run("pipeline", "create", "@admin.default.numbers");
      assert.equal(code, 0, stdout + stderr);
      assert.match((await client.run("pipeline", "list")).stdout, /PAUSED|PENDING/);
    });
  });
}
