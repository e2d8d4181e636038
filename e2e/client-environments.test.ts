/** Python versions and requirements of a job, with the real client and the real package index. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readJob } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { assertFollowed, assertStatuses, jobIdOf, logOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";

const skip = await whyNoDatachain();
const building = /^Building virtualenv with Python 3\.\d+\.\d+$/m;

describe("environments of datachain jobs", { skip, concurrency: 2 }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "4" });

  test("--req and --req-file are installed, live in the log; the next job uses the same environment", async () => {
    const client = await suite.client();
    await client.write("requirements.txt", "# a comment\n\nsix==1.17.0\n");
    await client.write(
      "use.py",
      'import six, toolz\nprint(six.__version__, toolz.concat.__name__, __import__("sys").prefix)\n',
    );
    const command = ["job", "run", "use.py", "--req-file", "requirements.txt", "--req", "toolz"];

    const first = await client.run(...command);
    assert.equal(first.code, 0, first.stdout + first.stderr);
    assertStatuses(first.stdout, "COMPLETE");
    const [install = "", query = ""] = first.stdout.split("\n>>>> Job is now in RUNNING status.\n");
    assert.match(install, /Job is now in INIT status/);
    assert.match(install, building, "shown while the environment is built, not after it");
    const log = logOf(first.stdout);
    assert.match(log, /\bsix\b.*\btoolz\b/s);
    assert.match(query, /^1\.17\.0 concat \//m);

    const second = await client.run(...command);
    const printed = /^1\.17\.0 concat .*\n/m.exec(second.stdout)?.[0] ?? "";
    assertFollowed(second, "COMPLETE", `Using cached virtualenv\n${printed}`);
    const job = await readJob(suite.api, jobIdOf(second));
    assert.deepEqual(
      job.steps?.map(({ name }) => name),
      ["environment", "query"],
    );
  });

  test("two jobs that need the same new environment at once build it once", async () => {
    const clients = [await suite.client(), await suite.client()];
    const results = await Promise.all(
      clients.map(async (client) => {
        await client.write("use.py", "import iniconfig\nprint(iniconfig.__name__, 'is there')\n");
        return client.run("job", "run", "use.py", "--req", "iniconfig");
      }),
    );
    for (const { code, stdout, stderr } of results) {
      assert.equal(code, 0, stdout + stderr);
      assert.match(logOf(stdout), /^iniconfig is there\n$/m);
    }
    const logs = results.map(({ stdout }) => logOf(stdout));
    assert.equal(logs.filter((log) => building.test(log)).length, 1, logs.join("\n---\n"));
    assert.equal(logs.filter((log) => /^Using cached virtualenv$/m.test(log)).length, 1, logs.join("\n---\n"));
  });

  test("a requirement that does not exist fails the job, and the error names it", async () => {
    const client = await suite.client();
    await client.write("never.py", 'print("never")\n');
    const result = await client.run("job", "run", "never.py", "--req", "six==0.0.0.404");
    assert.equal(result.code, 1);
    assertStatuses(result.stdout, "FAILED");
    assert.doesNotMatch(logOf(result.stdout), /^never$/m);
    const { error_message } = await readJob(suite.api, jobIdOf(result));
    assert.match(error_message ?? "", /^The environment could not be built: .*six==0\.0\.0\.404/);
  });

  test("--python-version selects an interpreter of the machine; an unknown one fails the job and lists them", async () => {
    const client = await suite.client();
    await client.write("version.py", "import platform\nprint(platform.python_version())\n");
    const unknown = await client.run("job", "run", "version.py", "--python-version", "3.99");
    assert.equal(unknown.code, 1, unknown.stderr);
    assertStatuses(unknown.stdout, "FAILED");
    const { error_message } = await readJob(suite.api, jobIdOf(unknown));
    const list = /^Python 3\.99 is not installed on this machine\. Installed versions: ([\d., ]+)\.$/.exec(
      error_message ?? "",
    )?.[1];
    assert.ok(list, error_message ?? "no message");

    const standard = (await client.run("job", "run", "version.py")).stdout;
    const versions = list.split(", ");
    const other = versions.find((version) => !logOf(standard).startsWith(minor(version))) ?? versions[0] ?? "";
    const result = await client.run("job", "run", "version.py", "--python-version", minor(other));
    assertFollowed(result, "COMPLETE", `${other}\n`);
    assert.equal((await readJob(suite.api, jobIdOf(result))).python_version, minor(other));
  });
});

const minor = (version: string) => version.split(".").slice(0, 2).join(".");
