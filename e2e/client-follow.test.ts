/** Following a job while the server dies or the connection breaks: nothing is lost, nothing appears twice. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { readLog } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain } from "@millrace/testing/programs/datachain-install.ts";
import { assertFollowed, jobIdOf } from "./support/client-output.ts";
import { ClientSuite, type Gate } from "./support/client-suite.ts";
import { CuttingProxy } from "./support/cutting-proxy.ts";

const skip = await whyNoDatachain();

/**
 * Writes steadily, with a pause in the middle, so that a test can interrupt the following twice, however slow the
 * machine is. The last line has no line end, as a prompt would.
 */
const slowScript = (gate: Gate) => `
import os, time
for i in range(1, 121):
    print(f"line {i} of 120")
    time.sleep(0.04)
    while i == 60 and not os.path.exists("${gate.path}"):
        time.sleep(0.04)
print("the end", end="")
`;
const slowLog = `${Array.from({ length: 120 }, (_, i) => `line ${i + 1} of 120\n`).join("")}the end`;

describe("following through a failure", { skip, concurrency: 2 }, () => {
  describe("of the server", { concurrency: 1 }, () => {
    const suite = ClientSuite.use();

    test("after a server was killed with -9 twice, every line and every status appear once, with the right exit code", async () => {
      const client = await suite.client();
      const gate = suite.gate("killed");
      await client.write("slow.py", slowScript(gate));
      const run = client.start("job", "run", "slow.py");
      await run.seen(/^line 10 of/m);
      await suite.server.restart();
      await run.seen(/^line 60 of/m);
      await gate.open();
      await suite.server.restart();
      const result = await run.ended();
      assertFollowed(result, "COMPLETE", slowLog);
      assert.ok(interruptions(result.stdout) >= 2);
      assert.equal(await readLog(suite.api, jobIdOf(result)), slowLog);
    });

    test("a job that ends while the server is down is reported when it is back", async () => {
      const client = await suite.client();
      const gate = suite.gate("down");
      await client.write("ends.sh", `echo before\n${gate.wait}\necho after\nexit 5\n`);
      const run = client.start("job", "run", "ends.sh");
      await run.seen(/^before$/m);
      await suite.server.stop("SIGKILL");
      await gate.open();
      await run.seen(/reconnecting/);
      await suite.server.start();
      assertFollowed(await run.ended(), "FAILED", "before\nafter\n");
    });

    test("after a server was stopped and started cleanly, the same holds", async () => {
      const client = await suite.client();
      const gate = suite.gate("stopped");
      await client.write("slow.py", slowScript(gate));
      const run = client.start("job", "run", "slow.py");
      await run.seen(/^line 60 of/m);
      await gate.open();
      await suite.server.stop("SIGTERM");
      await suite.server.start();
      assertFollowed(await run.ended(), "COMPLETE", slowLog);
    });
  });

  describe("of the connection", () => {
    const suite = ClientSuite.use();

    test("with a socket that is cut twice, every line and every status appear once, with the right exit code", async () => {
      const proxy = await CuttingProxy.start(suite.server.port);
      try {
        const client = await suite.client({ url: proxy.url });
        const gate = suite.gate("cut");
        await client.write("slow.py", slowScript(gate));
        const run = client.start("job", "run", "slow.py");
        await run.seen(/^line 10 of/m);
        assert.ok(proxy.cut("reset") > 0);
        await run.seen(/^line 60 of/m);
        await gate.open();
        assert.ok(proxy.cut("end") > 0);
        const result = await run.ended();
        assertFollowed(result, "COMPLETE", slowLog);
        assert.equal(interruptions(result.stdout), 2);
      } finally {
        await proxy.stop();
      }
    });
  });
});

const interruptions = (stdout: string) => stdout.match(/WebSocket closed, reconnecting/g)?.length ?? 0;
