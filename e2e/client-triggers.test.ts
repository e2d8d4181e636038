/** The unmodified library in scheduled runs, and its new versions that fire schedules. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type Pipeline, type PipelineSchedule, routes } from "@millrace/contract";
import { python, readJob, readLog, runJob, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

const skip = await whyNoDatachain();

describe("a dataset that the library creates", { skip }, () => {
  const suite = ClientSuite.use({ ...withLibrary, MILLRACE_MAX_WORKERS: "4" });
  const commandLine = Millrace.useWith(suite);

  test("fires a schedule when a job has saved a new version; the run reads its moment with dc.param", async () => {
    const cli = await commandLine();
    const save = python("import datachain as dc\ndc.read_values(n=[1, 2]).save('arriving')\n", {
      query_name: "save.py",
    });
    assert.equal((await runJob(suite.api, save)).job.status, "COMPLETE");
    const report =
      "import datachain as dc\nprint('for', dc.param('scheduled_date', 'nobody'))\ndc.read_dataset('arriving').save('report')\n";
    const { job, log } = await runJob(suite.api, python(report, { query_name: "report.py" }));
    assert.equal(job.status, "COMPLETE", log);
    assert.match(log, /^for nobody$/m, "by hand there is no moment");

    const { name } = await cli.json<Pipeline>("pipeline", "create", "report");
    const circle = await cli.refused(1, "schedule", "create", "arrivals", name, "--on-dataset", "arriving");
    assert.match(circle, /arrivals makes @admin\.default\.arriving, which fires arrivals/);
    await cli.print("pipeline", "remove-job", name, "save.py");
    const flags = ["--on-dataset", "arriving", "--quiet-for", "1s", "--timezone", "Asia/Tokyo"];
    const { id } = await cli.json<PipelineSchedule>("schedule", "create", "arrivals", name, ...flags);
    const read = () => suite.api.call(routes.getSchedule, { query: { schedule_id: id } });
    assert.equal((await read()).fired, 0);

    await runJob(suite.api, save);
    const run = await until("its run", async () => (await read()).latest_run ?? undefined);
    const made = await waitForEnd(suite.api, run.job_runs[0]?.created_job_id ?? "", 120);
    const { scheduled_at = "", scheduled_timezone } = await readJob(suite.api, made.id);
    assert.equal(scheduled_timezone, "Asia/Tokyo");
    const date = new Date(Date.parse(scheduled_at) + 9 * 3_600_000).toISOString().slice(0, 10);
    assert.match(await readLog(suite.api, made.id), new RegExp(`^for ${date}$`, "m"));
    const { dataset_versions } = await suite.api.call(routes.datasetJobVersions, { query: { job_id: made.id } });
    assert.deepEqual(dataset_versions, [{ dataset_name: "@admin.default.report", version: "1.0.1" }]);
    assert.equal((await read()).fired, 1);
  });
});
