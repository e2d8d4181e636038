/** `datachain job run`: options that reach the job. */
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { describe, test } from "node:test";
import { createJob, readJob, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { assertFollowed, jobIdOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";

const skip = await whyNoDatachain();

describe("options of datachain job run", { skip, concurrency: 2 }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "2" });

  test("--env-file and --env follow dotenv rules, and --env wins", async () => {
    const client = await suite.client();
    const file = [
      "# a comment",
      "PLAIN=one",
      "",
      'DOUBLE="two words # no comment"',
      "SINGLE='as $is'",
      "",
      "OVER=file",
      "EMPTY=",
      "export SHOWN=yes",
      "",
    ].join("\n");
    await client.write("settings.env", file);
    await client.write(
      "show.py",
      show("PLAIN", "DOUBLE", "SINGLE", "OVER", "EMPTY", "SHOWN", "FIRST", "SECOND", "THIRD"),
    );
    const flags = ["--env", "FIRST=1", "SECOND=with spaces", "--env", "THIRD=a=b", "OVER=flag"];
    const result = await client.run("job", "run", "show.py", "--env-file", "settings.env", ...flags);
    const expected = ["one", "two words # no comment", "as $is", "flag", "", "yes", "1", "with spaces", "a=b"];
    assertFollowed(result, "COMPLETE", expected.map((value) => `'${value}'\n`).join(""));
  });

  test("a job gets no variables of the server", async () => {
    const client = await suite.client();
    await client.write(
      "look.sh",
      "env | grep -E '^(MILLRACE_DATA_DIR|MILLRACE_PORT|MILLRACE_LOGIN_RATE)=' || echo nothing\n",
    );
    assertFollowed(await client.run("job", "run", "look.sh"), "COMPLETE", "nothing\n");
  });

  test("--files are in the working directory under their names, byte for byte", async () => {
    const client = await suite.client();
    const bytes = randomBytes(300_000);
    await client.write("notes.txt", "first line\nsecond line\n");
    await client.write("deep/down/data blob.bin", bytes);
    await client.write(
      "read.py",
      'import hashlib\nprint(open("notes.txt").read(), end="")\nprint(hashlib.sha256(open("data blob.bin", "rb").read()).hexdigest())\n',
    );
    const result = await client.run("job", "run", "read.py", "--files", "notes.txt", "deep/down/data blob.bin");
    const digest = createHash("sha256").update(bytes).digest("hex");
    assertFollowed(result, "COMPLETE", `first line\nsecond line\n${digest}\n`);
    assert.equal((await readJob(suite.api, jobIdOf(result))).files.length, 2);
  });

  test("--cluster takes a name or a number, --workers up to the number of slots", async () => {
    const client = await suite.client();
    await client.write("here.sh", "echo here\n");
    for (const cluster of ["local", "1"]) {
      const result = await client.run("job", "run", "here.sh", "--cluster", cluster, "--workers", "2");
      assertFollowed(result, "COMPLETE", "here\n");
      const { compute_cluster_id, compute_cluster_name, workers } = await readJob(suite.api, jobIdOf(result));
      assert.deepEqual([compute_cluster_id, compute_cluster_name, workers], [1, "local", 2]);
    }
  });
});

describe("a full cluster", { skip }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "1" });

  test("--priority 0 runs before waiting jobs with a higher number", async () => {
    const client = await suite.client();
    const gate = suite.gate("busy");
    const blocker = await createJob(suite.api, shell(gate.wait));
    await waitForStatus(suite.api, blocker.id, ["RUNNING"]);
    await client.write("later.sh", "echo later\n");
    await client.write("sooner.sh", "echo sooner\n");
    const later = jobIdOf(await client.run("job", "run", "later.sh", "--no-wait", "--priority", "4"));
    const sooner = jobIdOf(await client.run("job", "run", "sooner.sh", "--no-wait", "--priority", "0"));
    assert.equal((await readJob(suite.api, later)).started_at, null);
    await gate.open();
    const [second, first] = [await waitForEnd(suite.api, later), await waitForEnd(suite.api, sooner)];
    assert.deepEqual([first.priority, second.priority], [0, 4]);
    assert.ok((first.finished_at ?? "") <= (second.started_at ?? ""), "one after the other");
  });
});

/** A script that prints the values of these variables, one per line, in quotes. */
const show = (...names: string[]) =>
  `import os\nfor name in ${JSON.stringify(names)}:\n    print("'" + os.environ[name] + "'")\n`;
