/** The unmodified library inside jobs: created versions are in the registry when the job has ended. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClient, routes } from "@millrace/contract";
import { python, readJob, readLog, runJob, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { jobIdOf, logOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

const skip = await whyNoDatachain();

describe("the library in jobs", { skip }, () => {
  const suite = ClientSuite.use({ ...withLibrary, MILLRACE_MAX_WORKERS: "4" });

  const commandLine = Millrace.useWith(suite);

  const versionsOf = async (job_id: string) =>
    (await suite.api.call(routes.datasetJobVersions, { query: { job_id } })).dataset_versions;

  test("a script saves a dataset under its creator's name, and `job run` ends with the created version", async () => {
    const client = await suite.client();
    await client.write("make.py", "import datachain as dc\ndc.read_values(n=[1, 2, 3]).save('numbers')\n");
    const first = await client.run("job", "run", "make.py");
    assert.equal(first.code, 0, first.stdout + first.stderr);
    assert.match(first.stdout, /@admin\.default\.numbers/);
    assert.deepEqual(await versionsOf(jobIdOf(first)), [{ dataset_name: "@admin.default.numbers", version: "1.0.0" }]);
    const job = await readJob(suite.api, jobIdOf(first));
    assert.deepEqual(
      job.steps?.map(({ name }) => name),
      ["datasets", "query"],
      "an interpreter that has the library needs no environment",
    );
  });

  test("a script that builds on it reads the newest version, which becomes its dependency", async () => {
    const client = await suite.client();
    await client.write(
      "more.py",
      "import datachain as dc\ndc.read_dataset('numbers').map(m=lambda n: n + 1, output=int).save('more')\n",
    );
    const run = await client.run("job", "run", "more.py");
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.deepEqual(await versionsOf(jobIdOf(run)), [{ dataset_name: "@admin.default.more", version: "1.0.0" }]);
  });

  test("`millrace job run` prints the versions, too", async () => {
    const cli = await commandLine();
    await cli.write("again.py", "import datachain as dc\ndc.read_values(n=[1]).save('again')\n");
    const { code, stderr } = await cli.run("job", "run", "again.py");
    assert.equal(code, 0, stderr);
    assert.match(stderr, /\nDataset @admin\.default\.again@1\.0\.0\nDone in /);
  });

  test("a colleague's short name means the colleague's own namespace; the failure reason suggests the right dataset", async () => {
    await suite.api.call(routes.createUser, { body: { username: "bob", is_admin: false, password: null } });
    await suite.api.call(routes.addMember, {
      params: { team_name: "main" },
      body: { username: "bob", role: "editor" },
    });
    const bob = createClient({ url: suite.server.url, token: await suite.server.token("--user", "bob"), team: "main" });
    const read = (name: string) => python(`import datachain as dc\nprint(dc.read_dataset('${name}').count())\n`);
    const { job } = await runJob(bob, read("numbers"));
    assert.match(
      job.error_message ?? "",
      /numbers not found in namespace @bob[\s\S]*there is @admin\.default\.numbers\./,
    );
    assert.equal((await runJob(bob, read("@admin.default.numbers"))).log, "3\n");
  });

  test("an in-memory session works as it does locally: what it saves disappears with it, beside the team's warehouse", async () => {
    const script = `import datachain as dc
from datachain.query.session import Session
print(dc.read_values(n=[1]).save('kept').count())
with Session('memory', in_memory=True) as session:
    dc.read_values(n=[1, 2], session=session).map(m=lambda n: n + 1, output=int).save('passing')
    print(dc.read_dataset('passing', session=session).to_values('m'))
`;
    const { job, log } = await runJob(suite.api, python(script));
    assert.equal(job.status, "COMPLETE", log);
    assert.match(log, /K1\n[\s\S]*\[2, 3\]\n$/);
    assert.deepEqual(await versionsOf(job.id), [{ dataset_name: "@admin.default.kept", version: "1.0.0" }]);
  });

  test("a script whose only session is in memory runs, and creates no version", async () => {
    const script = "import datachain as dc\nprint(dc.read_values(n=[1, 2, 3], in_memory=True).save('gone').count())\n";
    const { job, log } = await runJob(suite.api, python(script, { environment: "PYTHONPATH=/nowhere" }));
    assert.equal(job.status, "COMPLETE", log);
    assert.match(log, /3\n$/);
    assert.deepEqual(await versionsOf(job.id), []);
  });

  test("metrics of the script become the job's", async () => {
    const client = await suite.client();
    await client.write(
      "measure.py",
      "import datachain as dc\nfrom datachain import metrics\nmetrics.set('rows', 7)\ndc.read_values(n=[1]).save('measured')\n",
    );
    const run = await client.run("job", "run", "measure.py");
    assert.equal(run.code, 0, run.stdout + run.stderr);
    assert.deepEqual((await readJob(suite.api, jobIdOf(run))).metrics, { rows: 7 });
  });

  test("secrets in metrics are masked as in the log", async () => {
    const secret = "correct-horse-battery-staple";
    const script =
      "import os\nimport datachain as dc\nfrom datachain import metrics\nmetrics.set('leak', os.environ['API_TOKEN'])\n";
    const { job } = await runJob(suite.api, python(script, { environment: `API_TOKEN=${secret}` }));
    assert.equal(job.status, "COMPLETE");
    assert.ok(!JSON.stringify(job.metrics).includes(secret), JSON.stringify(job.metrics));
    assert.ok("leak" in job.metrics);
  });

  test("what a job adds to the team's warehouse at its very end is counted", async () => {
    const added = 40 * 1024 ** 2;
    const script = `import os, datachain
with open(os.environ["DATACHAIN_WAREHOUSE_ARG_DB_FILE"] + ".more", "wb") as file: file.write(os.urandom(${added}))
`;
    const usage = async () =>
      (await suite.api.call(routes.getTeamUsage, { params: { team_name: "main" } })).datasets.bytes;
    assert.ok((await usage()) < added);
    assert.equal((await runJob(suite.api, python(script))).job.status, "COMPLETE");
    assert.ok((await usage()) >= added, `${await usage()} bytes`);
  });

  test("a second run of an unchanged script finds its checkpoint; with --ignore-checkpoints it creates a new version", async () => {
    const client = await suite.client();
    await client.write(
      "step.py",
      "import datachain as dc\ndc.read_dataset('numbers').map(k=lambda n: n * 2, output=int).save('steps')\n",
    );
    const first = await client.run("job", "run", "step.py");
    assert.equal(first.code, 0, first.stdout + first.stderr);
    const again = await client.run("job", "run", "step.py");
    assert.match(logOf(again.stdout), /Checkpoint found/);
    assert.deepEqual(await versionsOf(jobIdOf(again)), [{ dataset_name: "@admin.default.steps", version: "1.0.0" }]);
    const fresh = await client.run("job", "run", "step.py", "--ignore-checkpoints");
    assert.deepEqual(await versionsOf(jobIdOf(fresh)), [{ dataset_name: "@admin.default.steps", version: "1.0.1" }]);
  });

  test("versions that a job created before it failed or was cancelled count", async () => {
    const client = await suite.client();
    await client.write(
      "fail.py",
      "import datachain as dc\ndc.read_values(n=[1]).save('before')\nraise SystemExit(3)\n",
    );
    const failed = await client.run("job", "run", "fail.py");
    assert.equal(failed.code, 1);
    assert.deepEqual(await versionsOf(jobIdOf(failed)), [{ dataset_name: "@admin.default.before", version: "1.0.0" }]);

    const { id } = await suite.api.call(routes.createJob, {
      body: {
        query:
          "import datachain as dc, time\ndc.read_values(n=[1]).save('cut')\nprint('saved', flush=True)\ntime.sleep(600)\n",
        query_type: "PYTHON",
      },
    });
    while (!(await readLog(suite.api, id)).includes("saved")) await new Promise((resolve) => setTimeout(resolve, 100));
    await suite.api.call(routes.cancelJob, { params: { job_id: id }, body: {} });
    assert.equal((await waitForEnd(suite.api, id)).status, "CANCELED");
    assert.deepEqual(await versionsOf(id), [{ dataset_name: "@admin.default.cut", version: "1.0.0" }]);
  });
});
