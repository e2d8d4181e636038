/** The job contract on a real Slurm cluster, through the unmodified client. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { routes } from "@millrace/contract";
import { createJob, readJob, readLog, shell, waitForEnd, waitForStatus } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { SlurmCluster, whyNoSlurm } from "@millrace/testing/servers/slurm.ts";
import { assertStatuses, jobIdOf, logOf, statusesOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";
import type { Result } from "./support/datachain.ts";

const run = promisify(execFile);
const skip = (await whyNoDatachain()) || (await whyNoSlurm());

describe("datachain jobs on Slurm", { skip }, () => {
  const suite = ClientSuite.use({ MILLRACE_ISOLATION: "none" });
  let slurm: SlurmCluster;
  before(async () => {
    slurm = await SlurmCluster.start();
    const options = { slurm_conf: slurm.configuration, python: "/usr/bin/python3" };
    await suite.api.call(routes.createCluster, {
      body: { name: "hpc", engine: "slurm", max_workers: 8, teams: ["main"], slurm: options },
    });
  });
  after(() => slurm.stop());

  /** Runs a script on the cluster and follows it. */
  async function onCluster(name: string, text: string, ...flags: string[]): Promise<Result> {
    const client = await suite.client();
    await client.write(name, text);
    return client.run("job", "run", name, "--cluster", "hpc", ...flags);
  }

  test("a script runs on a node, with its states and its log", async () => {
    const result = await onCluster("where.sh", 'echo "node $SLURM_JOB_NODELIST"; echo to stderr >&2');
    assert.match(logOf(result.stdout), /^node node\d+\nto stderr\n$/);
    assertStatuses(result.stdout, "COMPLETE");
    const { compute_cluster_name, exit_code } = await readJob(suite.api, jobIdOf(result));
    assert.deepEqual([compute_cluster_name, exit_code], ["hpc", 0]);
  });

  test("requirements, files, environment and credentials reach the job", async () => {
    const bytes = randomBytes(300_000);
    const client = await suite.client();
    await client.write("data blob.bin", bytes);
    await suite.api.call(routes.setTeamCredentials, {
      body: { name: "bucket", values: { KEY_OF_BUCKET: "key-0815" } },
    });
    await client.write(
      "use.py",
      [
        "import hashlib, os, six",
        'print(six.__version__, os.environ["GREETING"], len(os.environ["KEY_OF_BUCKET"]))',
        'print(hashlib.sha256(open("data blob.bin", "rb").read()).hexdigest())',
      ].join("\n"),
    );
    const flags = ["--req", "six==1.17.0", "--env", "GREETING=hello", "--credentials-name", "bucket"];
    const result = await client.run("job", "run", "use.py", "--cluster", "hpc", "--files", "data blob.bin", ...flags);
    assertStatuses(result.stdout, "COMPLETE");
    const digest = createHash("sha256").update(bytes).digest("hex");
    assert.ok(logOf(result.stdout).endsWith(`1.17.0 hello 8\n${digest}\n`), result.stdout);
    // Short states may be missed: the client sees what there is when it looks.
    for (const state of ["PROVISIONING", "INIT"] as const) assert.ok(statusesOf(result.stdout).includes(state), state);
    const { steps } = await readJob(suite.api, jobIdOf(result));
    assert.deepEqual(
      steps?.map(({ name }) => name),
      ["files", "environment", "query"],
    );
  });

  test("an exit code and a traceback are told", async () => {
    const result = await onCluster(
      "fail.py",
      'import sys\ndef inner():\n    raise ValueError("no such row")\ninner()\n',
    );
    assert.equal(result.code, 1);
    const { error_message, error_stack, exit_code } = await readJob(suite.api, jobIdOf(result));
    assert.equal(exit_code, 1);
    assert.match(error_message ?? "", /ValueError: no such row/);
    assert.match(error_stack ?? "", /inner/);
    const quit = await onCluster("quit.sh", "exit 7");
    assert.equal((await readJob(suite.api, jobIdOf(quit))).exit_code, 7);
  });

  test("a job is canceled while it runs, with time to tidy up, and while it waits in Slurm", async () => {
    const client = await suite.client();
    const tidy = "trap 'echo tidied; exit 0' TERM; echo up; while :; do sleep 0.1; done";
    const running = await createJob(suite.api, shell(tidy, { compute_cluster_name: "hpc" }));
    await waitForStatus(suite.api, running.id, ["RUNNING"]);
    assert.equal((await client.run("job", "cancel", running.id)).code, 0);
    assert.equal((await waitForEnd(suite.api, running.id)).status, "CANCELED");
    assert.match(await readLog(suite.api, running.id), /^up\n(Terminated\n)?tidied\n$/);
    await slurm.command("scontrol", "update", "PartitionName=usual", "State=DOWN");
    const waiting = await createJob(suite.api, shell("echo ran", { compute_cluster_name: "hpc" }));
    await waitForStatus(suite.api, waiting.id, ["PROVISIONING"]);
    await client.run("job", "cancel", waiting.id);
    assert.equal((await waitForEnd(suite.api, waiting.id)).status, "CANCELED");
    await slurm.command("scontrol", "update", "PartitionName=usual", "State=UP");
    assert.doesNotMatch(await readLog(suite.api, waiting.id), /ran/);
    assert.equal((await slurm.command("squeue", "--noheader")).trim(), "", "nothing is left in Slurm");
  });

  test("a time limit ends a job with the reason", async () => {
    const script =
      '# /// script\n# [tool.millrace]\n# timeout = "2s"\n# ///\nimport time\nprint("up", flush=True)\ntime.sleep(60)\n';
    const result = await onCluster("long.py", script);
    assert.equal(result.code, 1);
    assert.match(
      (await readJob(suite.api, jobIdOf(result))).error_message ?? "",
      /ran longer than its limit of 2 seconds/,
    );
  });

  test("a job goes on while the server is away, and its log is whole", async () => {
    const lines = 30;
    const job = await createJob(
      suite.api,
      shell(`for i in $(seq ${lines}); do echo "line $i"; sleep 0.2; done`, { compute_cluster_name: "hpc" }),
    );
    await waitForStatus(suite.api, job.id, ["RUNNING"]);
    await suite.server.restart();
    assert.equal((await waitForEnd(suite.api, job.id)).status, "COMPLETE");
    const expected = [...Array(lines).keys()].map((index) => `line ${index + 1}\n`).join("");
    assert.equal(await readLog(suite.api, job.id), expected);
  });

  test("no secret is in Slurm's listings, its script, or a process list", async () => {
    const secret = `secret-${randomBytes(8).toString("hex")}`;
    const gate = suite.gate("look");
    const environment = `PASSWORD=${secret}`;
    const job = await createJob(suite.api, shell(gate.wait, { compute_cluster_name: "hpc", environment }));
    await waitForStatus(suite.api, job.id, ["RUNNING"]);
    const listings = [
      await slurm.command("squeue", "-o", "%all"),
      await slurm.command("scontrol", "show", "job", "-dd"),
      (await run("ps", ["-eo", "args"], { maxBuffer: 64 << 20 })).stdout,
      ...commandLines(),
    ].join("\n");
    await gate.open();
    await waitForEnd(suite.api, job.id);
    assert.match(listings, new RegExp(`millrace-${job.id}`), "the job is in the listings");
    for (const hidden of [secret, "MILLRACE_TOKEN"]) assert.ok(!listings.includes(hidden), hidden);
  });
});

/** Command lines of all processes. */
const commandLines = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(join("/proc", pid, "cmdline"), "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    });
