/**
 * Creating and following a job with `millrace` while the server dies, the connection breaks, or the user presses
 * Ctrl-C.
 */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { routes } from "@millrace/contract";
import { createJob, readJob, readLog, shell, waitForEnd } from "@millrace/testing/millrace/jobs.ts";
import { ClientSuite, type Gate } from "./support/client-suite.ts";
import { CuttingProxy } from "./support/cutting-proxy.ts";
import { assertFollowed, createdJob, Millrace } from "./support/millrace.ts";

/**
 * Writes steadily, with a pause in the middle, so that a test can interrupt the following twice, however slow the
 * machine is. The last line has no line end, as a prompt would.
 */
const slowScript = (gate: Gate) => `
i=0
while [ $i -lt 80 ]; do
  i=$((i + 1)); echo "línea $i of 80"; sleep 0.03
  if [ $i = 40 ]; then ${gate.wait}; fi
done
printf 'the end'
`;
const slowLog = `${Array.from({ length: 80 }, (_, i) => `línea ${i + 1} of 80\n`).join("")}the end`;

describe("creating and following through a failure of the server", () => {
  const suite = ClientSuite.use();
  const commandLine = Millrace.useWith(suite);

  test("after a server was killed with -9 right after it committed the job, the creation is repeated and there is one job", async () => {
    const cli = await commandLine();
    await cli.write("once.sh", "echo once\n");
    await suite.server.stop();
    await suite.server.start({ MILLRACE_FAULT: "job-committed:1" });
    const run = cli.start("job", "run", "once.sh");
    await suite.server.ended();
    await suite.server.start();
    assertFollowed(await run.ended(), "COMPLETE", "once\n");
    const jobs = await suite.api.call(routes.listJobs, { query: { name: "once.sh" } });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [await createdJob(run)],
    );
  });

  test("an unreachable server is an error that says which, why and what to do, with exit code 1", async () => {
    const cli = await commandLine();
    await suite.server.stop();
    const said = await cli.refused(1, "job", "ls");
    assert.match(
      said,
      /^error: No answer from the server at http:\S+\n {2}why: .*ECONNREFUSED.*\n next: millrace serve\n$/,
    );
    await suite.server.start();
  });

  test("after a server was killed with -9 twice while following, every byte and every status appear once", async () => {
    const cli = await commandLine();
    const gate = suite.gate("killed");
    await cli.write("slow.sh", slowScript(gate));
    const run = cli.start("job", "run", "slow.sh");
    await run.seen(/^línea 10 of/m);
    await suite.server.restart();
    await run.seen(/^línea 40 of/m);
    await suite.server.stop("SIGKILL");
    await gate.open();
    await suite.server.start();
    assertFollowed(await run.ended(), "COMPLETE", slowLog);
    assert.equal(await readLog(suite.api, await createdJob(run)), slowLog);
  });

  test("a job that ends while the server is down is reported when it is back, by `job logs` and by `job run`", async () => {
    const cli = await commandLine();
    const gate = suite.gate("down");
    await cli.write("ends.sh", `echo before\n${gate.wait}\necho after\nexit 5\n`);
    const run = cli.start("job", "run", "ends.sh");
    await run.seen(/^before$/m);
    const logs = cli.start("job", "logs", await createdJob(run));
    await logs.seen(/^before$/m);
    await suite.server.stop("SIGKILL");
    await gate.open();
    await suite.server.start();
    assertFollowed(await run.ended(), "FAILED", "before\nafter\n");
    assertFollowed(await logs.ended(), "FAILED", "before\nafter\n");
  });

  test("a server stops at once although somebody follows, and the following continues afterwards", async () => {
    const cli = await commandLine();
    const gate = suite.gate("stopped");
    await cli.write("slow.sh", slowScript(gate));
    const run = cli.start("job", "run", "slow.sh");
    await run.seen(/^línea 40 of/m);
    await suite.server.stop("SIGTERM");
    await gate.open();
    await suite.server.start();
    assertFollowed(await run.ended(), "COMPLETE", slowLog);
  });
});

describe("following until the connection breaks or the user presses Ctrl-C", { concurrency: 2 }, () => {
  const suite = ClientSuite.use({ MILLRACE_MAX_WORKERS: "4" });
  const commandLine = Millrace.useWith(suite);

  test("with a connection that is cut twice, every byte and every status appear once", async (t) => {
    const proxy = await CuttingProxy.start(suite.server.port);
    t.after(() => proxy.stop());
    const cli = await commandLine({ url: proxy.url });
    const gate = suite.gate("cut");
    await cli.write("slow.sh", slowScript(gate));
    const run = cli.start("job", "run", "slow.sh");
    await run.seen(/^línea 10 of/m);
    assert.ok(proxy.cut("reset") > 0);
    await run.seen(/^línea 40 of/m);
    assert.ok(proxy.cut("end") > 0);
    await gate.open();
    assertFollowed(await run.ended(), "COMPLETE", slowLog);
  });

  test("Ctrl-C stops `job run` with 130 and says how to continue; the job continues", async () => {
    const cli = await commandLine();
    const gate = suite.gate("detached");
    await cli.write("wait.sh", `echo started\n${gate.wait}\necho finished\n`);
    const run = cli.start("job", "run", "wait.sh");
    await run.seen(/^started$/m);
    run.kill("SIGINT");
    const { code, stdout, stderr } = await run.ended();
    const id = await createdJob(run);
    assert.deepEqual([code, stdout], [130, "started\n"]);
    assert.match(stderr, /^Stopped following\. The job continues\.$/m);
    assert.ok(stderr.includes(`millrace job logs ${id}\n`) && stderr.includes(`millrace job cancel ${id}\n`));
    assert.equal((await readJob(suite.api, id)).status, "RUNNING");
    await gate.open();
    assert.equal((await waitForEnd(suite.api, id)).status, "COMPLETE");
    assert.equal(await readLog(suite.api, id), "started\nfinished\n");
  });

  test("Ctrl-C stops `job logs` with 130, even while the server is unreachable", async () => {
    const gate = suite.gate("logs");
    const { id } = await createJob(suite.api, shell(`echo started\n${gate.wait}\n`));
    const proxy = await CuttingProxy.start(suite.server.port);
    const cli = await commandLine({ url: proxy.url });
    const logs = cli.start("job", "logs", id);
    await logs.seen(/^started$/m).finally(() => proxy.stop());
    logs.kill("SIGINT");
    const { code, stdout, stderr } = await logs.ended();
    assert.deepEqual([code, stdout], [130, "started\n"], stderr);
    await gate.open();
    assert.equal((await waitForEnd(suite.api, id)).status, "COMPLETE");
  });
});
