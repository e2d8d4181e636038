/** The real library and real progress bars: a failure has a reason, whichever process it happened in. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { python, runJob } from "@millrace/testing/millrace/jobs.ts";
import { whyNoDatachain, withLibrary } from "@millrace/testing/programs/datachain-install.ts";
import { ClientSuite } from "./support/client-suite.ts";
import { Millrace } from "./support/millrace.ts";

const skip = await whyNoDatachain();

describe("why a script with the library failed", { skip }, () => {
  const suite = ClientSuite.use({ ...withLibrary, MILLRACE_MAX_WORKERS: "4", MILLRACE_JOB_MEMORY: "1GiB" });
  const commandLine = Millrace.useWith(suite);

  const script = (settings: string, line: string) => `import datachain as dc
def work(n: int) -> int:
    import os, signal
    if n == 7:
        ${line}
    return n
dc.read_values(n=list(range(20)))${settings}.map(m=work).save("made")
`;
  const parallel = ".settings(parallel=2)";
  const raise = "raise ValueError(f'no luck with {n}')";

  const fail = async (query: string) => {
    const { job, log } = await runJob(suite.api, python(query));
    assert.equal(job.status, "FAILED", log);
    return { message: job.error_message ?? "", stack: job.error_stack ?? "", log };
  };

  test("the exception of a function is the reason, in parallel or not, behind the library's progress bars", async () => {
    for (const settings of ["", parallel]) {
      const { message, stack, log } = await fail(script(settings, raise));
      assert.match(log, /rows\/s\].*[\s\S]*Traceback/, "a bar stands right before it");
      assert.equal(message, "ValueError: no luck with 7");
      // The library may kill a worker before it has printed its own traceback.
      const own = log.includes(", in work\n") ? 'job\\.py", line 5, in work\n[\\s\\S]*' : "";
      assert.match(stack, new RegExp(`^Traceback[\\s\\S]*${own}ValueError: no luck with 7`));
      assert.ok(own !== "" || settings === parallel);
    }
  });

  test("`millrace job run` prints it at the end", async () => {
    const cli = await commandLine();
    await cli.write("parallel.py", script(parallel, raise));
    const { code, stderr } = await cli.run("job", "run", "parallel.py");
    assert.equal(code, 1);
    assert.match(stderr, /\n {2}why: ValueError: no luck with 7\n/);
  });

  test("a module that only a worker lacks is named with how to require it", async () => {
    const { message } = await fail(script(parallel, "import nosuchmodule"));
    assert.match(
      message,
      /^ModuleNotFoundError: No module named 'nosuchmodule'\. Add nosuchmodule to the job's requirements/,
    );
  });

  test("a killed worker is reported with the signal", async () => {
    const { message } = await fail(script(parallel, "os.kill(os.getpid(), signal.SIGSEGV)"));
    assert.match(
      message,
      /^RuntimeError: Worker Worker-UDF-\d exited unexpectedly with code -11\. .*segmentation fault/,
    );
  });

  test("a worker that the kernel killed for lack of memory is reported as the job's memory limit", {
    skip: process.getuid?.() !== 0 && "needs root",
  }, async () => {
    const { message, stack } = await fail(script(parallel, "x = bytearray(2 << 30)"));
    assert.match(message, /limit of 1 GiB of memory/);
    assert.match(stack, /Worker Worker-UDF-\d exited unexpectedly with code -9/);
  });

  test("a script's own progress bars do not hide its exception", async () => {
    const bars =
      "from tqdm import tqdm\nfor n in tqdm(range(9), leave=False):\n    if n == 7:\n        raise ValueError('no luck')\n";
    const { message, log } = await fail(bars);
    assert.match(log, /it\/s\]|\?it\/s/);
    assert.equal(message, "ValueError: no luck");
  });
});
