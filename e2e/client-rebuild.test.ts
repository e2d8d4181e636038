/**
 * Three scripts that build on each other, run as jobs and then rebuilt by a pipeline, with the real library and client.
 */
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import { type Pipeline, routes } from "@millrace/contract";
import { createJob, python, readJob, readLog, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { until } from "@millrace/testing/until.ts";
import { jobIdOf } from "./support/client-output.ts";
import { ClientSuite } from "./support/client-suite.ts";

const skip = await whyNoDatachain();

describe("three scripts that build on each other", { skip }, () => {
  const suite = ClientSuite.use({ ...withLibrary, MILLRACE_MAX_WORKERS: "2" });
  const read = (name: string): Promise<Pipeline> => suite.api.call(routes.getPipeline, { query: { name } });

  const scripts = (folder: string) => ({
    "files.py": `import datachain as dc\ndc.read_storage("file://${folder}", update=True).save("files")\n`,
    "sizes.py": `import datachain as dc\ndc.read_dataset("files").map(length=lambda file: file.size, output=int).save("sizes")\n`,
    "final.py": `import datachain as dc
sizes = dc.read_dataset("sizes")
total = sum(sizes.to_values("length"))
print("total", total)
sizes.mutate(total=total).save("final")
`,
  });

  const versionOf = async (dataset: string) => {
    const { nodes, root, edges } = await suite.api.call(routes.getLineage, {
      query: { dataset, direction: "upstream" },
    });
    const made = edges.find(({ to, kind }) => to === root && kind === "made")?.from;
    return { nodes, version: nodes.find(({ id }) => id === root)?.version, madeBy: made };
  };

  test("run as jobs, are listed, and are rebuilt in order: every version is new, and created from new ones", async () => {
    const folder = join(suite.shared, "data");
    await mkdir(folder);
    await writeFile(join(folder, "one.txt"), "1");
    const client = await suite.client();
    const jobs: string[] = [];
    for (const [name, text] of Object.entries(scripts(folder))) {
      await client.write(name, text);
      const run = await client.run("job", "run", name);
      assert.equal(run.code, 0, run.stdout + run.stderr);
      assert.match(run.stdout, new RegExp(`- @admin\\.default\\.${name.replace(".py", "")}@v1\\.0\\.0\n`));
      jobs.push(jobIdOf(run));
    }
    const listed = await client.run("dataset", "ls", "--studio");
    for (const name of ["files", "sizes", "final"])
      assert.match(listed.stdout, new RegExp(`\\.${name}\\b`), listed.stderr);
    const before = await versionOf("final");
    assert.ok(
      before.nodes.some(({ kind, id }) => kind === "storage" && id.startsWith("file://")),
      "from storage on",
    );

    // More input than when the scripts ran first.
    await writeFile(join(folder, "two.txt"), "22");
    const created = await client.run("pipeline", "create", "final");
    const pipeline = /created under name: (\S+) from:/.exec(created.stdout)?.[1] ?? assert.fail(created.stderr);
    const draft = await read(pipeline);
    assert.deepEqual([draft.status, draft.completed, draft.total], ["PAUSED", 0, 3]);
    assert.deepEqual(
      draft.job_runs.map(({ job_id, status }) => [job_id, status]),
      jobs.map((id) => [id, "PENDING"]),
    );

    assert.equal((await client.run("pipeline", "resume", pipeline)).code, 0);
    await until("it is complete", async () => (await read(pipeline)).status === "COMPLETED", 120);
    const done = await read(pipeline);
    const runs = await Promise.all(done.job_runs.map((run) => readJob(suite.api, run.created_job_id ?? "")));
    for (const [index, run] of runs.entries()) {
      const next = runs[index + 1];
      if (next) assert.ok((run.finished_at ?? "~") <= (next.started_at ?? ""), "one after the other");
      assert.doesNotMatch(await readLog(suite.api, run.id), /Checkpoint found/);
    }
    const after = await versionOf("final");
    assert.equal(after.version, "1.0.1");
    assert.deepEqual(
      after.nodes
        .filter(({ kind }) => kind === "dataset")
        .map(({ name, version }) => `${name}@${version}`)
        .sort(),
      ["files", "final", "sizes"].map((name) => `@admin.default.${name}@1.0.1`),
      "made from new versions all the way",
    );
    assert.match(await readLog(suite.api, runs[2]?.id ?? ""), /total 3/, "what is new in the storage was read");
  });

  test("versions of a job that ends while no server runs are in the registry when one runs again", async () => {
    const script = "import datachain as dc, time\ntime.sleep(2)\ndc.read_values(n=[1]).save('alone')\n";
    const { id } = await createJob(suite.api, python(script));
    await until("it runs", async () => (await readJob(suite.api, id)).status === "RUNNING");
    await suite.server.stop("SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 8000));
    await suite.server.start();
    assert.equal((await waitForEnd(suite.api, id)).status, "COMPLETE");
    const { dataset_versions } = await suite.api.call(routes.datasetJobVersions, { query: { job_id: id } });
    assert.deepEqual(dataset_versions, [{ dataset_name: "@admin.default.alone", version: "1.0.0" }]);
  });
});
