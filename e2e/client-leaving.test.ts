/** The unmodified library in jobs that were handed over: datasets keep their names, whoever the jobs run as. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createClient, routes } from "@millrace/contract";
import { python, readJob, runJob } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { until } from "@millrace/testing/until.ts";
import { ClientSuite } from "./support/client-suite.ts";

describe("scripts of a user who left", { skip: await whyNoDatachain() }, () => {
  const suite = ClientSuite.use(withLibrary);

  test("still read and save short names in the same namespace, as the team's service account", async () => {
    const { api, server } = suite;
    const team = { team_name: "main" };
    await api.call(routes.createServiceAccount, { params: team, body: {} });
    await api.call(routes.createUser, { body: { username: "ann" } });
    await api.call(routes.addMember, { params: team, body: { username: "ann", role: "editor" } });
    const ann = createClient({ url: server.url, token: await server.token("--user", "ann"), team: "main" });
    await runJob(ann, python("import datachain as dc\ndc.read_values(n=[1, 2, 3]).save('source')\n"));
    const last = "import datachain as dc\ndc.read_dataset('source').map(m=lambda n: n + 1, output=int).save('final')\n";
    assert.equal((await runJob(ann, python(last))).job.status, "COMPLETE");

    const body = { datasets: ["final"], review: true };
    const { pipeline } = await ann.call(routes.triggerPipeline, { body });
    const times = { schedule_name: "nightly", pipeline_name: pipeline.name, cron_expression: "@yearly" };
    const { schedule } = await ann.call(routes.createSchedule, { body: times });
    await ann.call(routes.cancelPipeline, { body: { name: pipeline.name } });
    const leave = { disabled: true, transfer_to: "main-service" };
    await api.call(routes.updateUser, { params: { username: "ann" }, body: leave });
    const now = { schedule_id: schedule.id, cron_expression: "", start_after: "2020-01-01T00:00:00Z" };
    await api.call(routes.updateSchedule, { body: now });

    const ended = async () => {
      const found = await api.call(routes.getSchedule, { query: { schedule_id: schedule.id } });
      return found.latest_run && found.latest_run.status !== "RUNNING" ? found : undefined;
    };
    const { latest_run } = await until("its run", ended);
    assert.deepEqual([latest_run?.status, latest_run?.error_message], ["COMPLETED", null]);
    const made: string[] = [];
    for (const { created_job_id } of latest_run?.job_runs ?? []) {
      const job_id = created_job_id ?? "";
      assert.equal((await readJob(api, job_id)).created_by, "main-service");
      const { dataset_versions } = await api.call(routes.datasetJobVersions, { query: { job_id } });
      made.push(...dataset_versions.map(({ dataset_name, version }) => `${dataset_name}@${version}`));
    }
    assert.deepEqual(made, ["@ann.default.source@1.0.1", "@ann.default.final@1.0.1"]);
  });
});
