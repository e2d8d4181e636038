/**
 * Releases of the library in jobs: the oldest that works, one in the middle, and the newest. The long form of the
 * client suite: see CONTRIBUTING.md. MILLRACE_LIBRARY_RELEASES selects others, separated by commas.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { oldestLibrary, routes } from "@millrace/contract";
import { createJob, python, readLog, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { releaseOf } from "@millrace/testing/programs/datachain-install.ts";
import { ClientSuite } from "../support/client-suite.ts";

const releases = (process.env["MILLRACE_LIBRARY_RELEASES"] ?? `${oldestLibrary},0.59.13,0.62.0`).split(",");

/** Saves, builds on what was saved, runs a function in parallel, sets a metric, works in memory. */
const make = `import datachain as dc
from datachain import metrics
from datachain.query.session import Session
if __name__ == "__main__":
    dc.read_values(n=[1, 2, 3]).save("numbers")
    dc.read_dataset("numbers").settings(parallel=2).map(m=lambda n: n + 1, output=int).save("more")
    metrics.set("rows", 3)
    with Session("memory", in_memory=True) as session:
        print("in memory:", dc.read_values(n=[1, 2], session=session).save("passing").count())
`;

for (const version of releases) {
  const release = releaseOf(version);
  describe(`the library ${version} in jobs`, { skip: await release.why() }, () => {
    const suite = ClientSuite.use({ ...release.env, MILLRACE_MAX_WORKERS: "2" });
    const run = async (query: string) => {
      const { id } = await createJob(suite.api, python(query));
      const job = await waitForEnd(suite.api, id, 300);
      const log = await readLog(suite.api, id);
      assert.equal(job.status, "COMPLETE", `${job.error_message}\n${log}`);
      const { dataset_versions } = await suite.api.call(routes.datasetJobVersions, { query: { job_id: id } });
      return { job, log, made: dataset_versions.map((made) => `${made.dataset_name}@${made.version}`).sort() };
    };

    test("creates versions that are in the registry, with lineage and metrics", async () => {
      const { job, log, made } = await run(make);
      assert.deepEqual(made, ["@admin.default.more@1.0.0", "@admin.default.numbers@1.0.0"]);
      assert.deepEqual(job.metrics, { rows: 3 });
      assert.match(log, /in memory: 2/);
      const { edges } = await suite.api.call(routes.getLineage, { query: { dataset: "@admin.default.more" } });
      assert.ok(edges.length > 0, "what it was made from is known");
    });

    test("creates versions that a client downloads with equal rows", async () => {
      const client = await suite.client();
      const script = 'import datachain as dc\nprint(sorted(dc.read_dataset("@admin.default.more").to_values("m")))';
      const { code, stdout, stderr } = await client.script(script);
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /\[2, 3, 4\]\n$/);
    });

    test("leaves a warehouse that the newest release can use", async () => {
      await suite.server.stop();
      await suite.server.start(releaseOf(releases.at(-1) ?? version).env);
      const query = 'import datachain as dc\ndc.read_dataset("more").filter(dc.C("m") > 2).save("newer")\n';
      assert.deepEqual((await run(query)).made, ["@admin.default.newer@1.0.0"]);
    });
  });
}
