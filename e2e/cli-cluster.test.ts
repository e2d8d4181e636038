/** `millrace cluster`, on the server's own machine; e2e/support/cluster-contract.ts has the other engines. */
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import type { ClusterTest, ManagedCluster } from "@millrace/contract";
import { createJob, runJob, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

describe("millrace cluster", () => {
  const suite = ClientSuite.use({ MILLRACE_ISOLATION: "none" });
  const commandLine = Millrace.useWith(suite);
  let cli: Millrace;
  before(async () => {
    cli = await commandLine();
  });

  test("ls and show list the clusters with their status", async () => {
    assert.match(await cli.print("cluster", "ls"), /^local\tlocal\tACTIVE\t0\/\d+\t0\tnone\tall\tyes$/m);
    const shown = await cli.print("cluster", "show", "local");
    assert.match(shown, /^status\tACTIVE$/m);
    assert.match(await cli.refused(1, "cluster", "show", "nowhere"), /There is no cluster nowhere/);
  });

  test("test runs a job that does nothing, and tells each step", async () => {
    const said = await cli.print("cluster", "test", "local");
    assert.match(said, /^ok {6}Run the job \([\d.]+ s\): It ended with exit code 0, and its log is here\.$/m);
    assert.match(said, /^The cluster works\.$/m);
    const { ok, steps } = await cli.json<ClusterTest>("cluster", "test", "local", "--seconds", "30");
    assert.deepEqual([ok, steps.length], [true, 4]);
  });

  test("drain accepts no more jobs, and set takes them again", async () => {
    const said = await cli.print("cluster", "drain", "local");
    assert.match(said, /^Cluster local is draining: 0 slots are in use, 0 jobs wait$/m);
    await assert.rejects(createJob(suite.api, shell("true")), /an administrator is draining local/);
    await cli.print("cluster", "set", "local", "--state", "paused");
    const { id } = await createJob(suite.api, shell("true"));
    assert.match(await cli.print("job", "why", id), /An administrator has paused it/);
    const { state } = await cli.json<ManagedCluster>("cluster", "set", "local", "--state", "active");
    assert.equal(state, "ACTIVE");
    assert.equal((await waitForEnd(suite.api, id)).status, "COMPLETE");
  });

  test("add, test and remove tell what is missing where there is no such engine", async () => {
    const flags = ["--engine", "slurm", "--max-workers", "2", "--for", "main", "--option", "slurm_bin=/nowhere"];
    await cli.print("cluster", "add", "hpc", ...flags);
    const { code, stdout } = await cli.run("cluster", "test", "hpc", "--json");
    assert.equal(code, 1);
    const { steps } = JSON.parse(stdout) as ClusterTest;
    assert.deepEqual([steps.length, steps[0]?.ok], [1, false]);
    assert.match(steps[0]?.message ?? "", /squeue/);
    assert.match(await cli.print("cluster", "show", "hpc"), /^option slurm_bin\t\/nowhere$/m);
    assert.match(await cli.print("cluster", "remove", "hpc", "--yes"), /The cluster hpc was removed/);
    assert.equal((await runJob(suite.api, shell("true"))).job.compute_cluster_name, "local");
  });

  test("add says what is wrong with its words", async () => {
    const add = (...words: string[]) => cli.refused(64, "cluster", "add", "hpc", ...words);
    assert.match(await add(), /--engine is missing/);
    assert.match(await add("--engine", "slurm"), /--max-workers is missing/);
    const rest = ["--engine", "slurm", "--max-workers", "2"];
    assert.match(await add(...rest, "--option", "colour=red"), /Unknown option 'colour' of slurm/);
    assert.match(await add(...rest, "--option", "partition"), /--option expects KEY=VALUE/);
    assert.match(await add(...rest, "--secret", "token=abc"), /--secret token expects @FILE/);
    const all = await cli.refused(1, "cluster", "add", "hpc", ...rest);
    assert.match(all, /slurm does not isolate jobs from each other/);
  });
});
