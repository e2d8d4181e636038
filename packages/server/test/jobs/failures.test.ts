/**
 * Real scripts that fail in every way: their jobs report the reason. reasons.test.ts has the table of what is found in
 * logs.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Client, JobInput } from "@millrace/contract";
import { python, runJob, shell } from "@millrace/testing/millrace/jobs.ts";
import { type InProcessServer, startInProcess } from "../support/in-process.ts";

describe("a failed job reports its reason", () => {
  let server: InProcessServer;
  let client: Client;
  before(async () => {
    server = await startInProcess();
    client = await server.client();
  });
  after(() => server.dispose());

  const fail = async (input: JobInput) => {
    const { job, log } = await runJob(client, input);
    assert.equal(job.status, "FAILED", log);
    return { message: job.error_message ?? "", stack: job.error_stack ?? "", log };
  };

  it("after a progress bar, in colours, and after text without a newline", async () => {
    const bar = String.raw`import sys
sys.stderr.write("\r 50%|#####     | 1/2 [00:00<00:00, 3.2it/s]\r\x1b[K\x1b[31m")
raise ValueError("no luck")
`;
    const text = "print('working...', end='', flush=True)\nraise ValueError('no luck')\n";
    for (const script of [bar, text]) {
      const { message, stack } = await fail(python(script));
      assert.equal(message, "ValueError: no luck");
      assert.match(stack, /^Traceback[\s\S]*job\.py", line \d[\s\S]*ValueError: no luck$/);
    }
  });

  it("if the message is longer than the first read of the log", async () => {
    const { message, stack } = await fail(python("raise ValueError('x' * 200_000)"));
    assert.equal(message, `ValueError: ${"x".repeat(200_000)}`.slice(0, 4096));
    assert.match(stack, /^Traceback[\s\S]*job\.py", line 1, in <module>/);
    assert.ok(Buffer.byteLength(stack) <= 64 * 1024);
  });

  it("if the traceback is longer than that", async () => {
    const { message } = await fail(python("def a(n):\n    b(n)\ndef b(n):\n    a(n)\na(0)\n"));
    assert.match(message, /^RecursionError: maximum recursion depth exceeded/);
  });

  it("for an exception group, and not for exceptions that did not end the script", async () => {
    const group = await fail(python("raise ExceptionGroup('both', [ValueError('one'), KeyError('two')])"));
    assert.equal(group.message, "ExceptionGroup: both (2 sub-exceptions): ValueError: one; KeyError: 'two'");
    const ignored = "class A:\n    def __del__(self):\n        raise TypeError\na = A()\nraise ValueError('real')\n";
    const { message, log } = await fail(python(ignored));
    assert.equal(message, "ValueError: real");
    assert.match(log, /ValueError: real\nException ignored [\s\S]*TypeError/);
  });

  it("for a script that does not parse, with the line", async () => {
    const { message, stack } = await fail(python("x = 1\ndef f(:\n"));
    assert.match(message, /^SyntaxError: .* \(job\.py, line 2\)$/);
    assert.match(stack, /^ {2}File ".*job\.py", line 2\n {4}def f\(:/);
  });

  it("for a missing module, with how to require it", async () => {
    const { message } = await fail(python("import nosuchmodule.part"));
    assert.match(
      message,
      /^ModuleNotFoundError: No module named 'nosuchmodule'\. Add nosuchmodule to the job's requirements, /,
    );
  });

  it("for a full disk", async () => {
    const { message } = await fail(python("with open('/dev/full', 'w') as file:\n    file.write('x')\n"));
    assert.match(message, /^OSError: \[Errno 28\] No space left on device\. The file system is full: /);
  });

  it("for a signal, whoever sent it", async () => {
    const segfault = "import faulthandler, ctypes\nfaulthandler.enable()\nctypes.string_at(0)\n";
    const { message, stack } = await fail(python(segfault));
    assert.match(message, /^The script was ended by signal 11 \(SIGSEGV\)\. That is a segmentation fault/);
    assert.match(stack, /^Fatal Python error: Segmentation fault[\s\S]*job\.py", line 3 in <module>/);
    const term = await fail(python("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n"));
    assert.match(term.message, /^The script was ended by signal 15 \(SIGTERM\)\. Millrace did not send it/);
    assert.match((await fail(shell("echo here; kill -9 $$"))).message, /SIGKILL.*memory.*Its log ends with: .*here/s);
  });

  it("for a shell script, with the last lines of its log", async () => {
    const { message, stack } = await fail(shell("for i in 1 2 3 4 5; do echo line $i >&2; done; exit 9"));
    assert.equal(message, "The script ended with exit code 9. Its log ends with: line 3\nline 4\nline 5");
    assert.equal(stack, "line 1\nline 2\nline 3\nline 4\nline 5");
    assert.match(
      (await fail(shell("nosuchprogram"))).message,
      /exit code 127\. A program was not found\. .*nosuchprogram/,
    );
    assert.match(
      (await fail(shell("#!/bin/sh\r\necho hello\r\n"))).message,
      /127.*first line names .* carriage return\.$/s,
    );
    assert.equal((await fail(shell('python3 -c "raise KeyError(7)"'))).message, "KeyError: 7");
    assert.match(
      (await fail(python("import sys; sys.exit('no input')"))).message,
      /exit code 1\. .*ends with: no input$/,
    );
  });

  it("without its secrets, even if colour codes split them", async () => {
    const secret = "tok-5-en-and-more";
    const environment = `API_TOKEN=${secret}`;
    const torn = String.raw`import os
t = os.environ["API_TOKEN"]
raise ValueError(t + " " + t[:5] + "\x1b[1m" + t[5:])
`;
    const { message, stack } = await fail(python(torn, { environment }));
    assert.equal(message, `ValueError: ${"*".repeat(17)} ${"*".repeat(17)}`);
    assert.ok(!stack.includes(secret), stack);
    const told = await fail(shell('echo "$API_TOKEN"; exit 1', { environment }));
    assert.match(told.message, /ends with: \*{17}$/);
    assert.equal(told.stack, "*".repeat(17));
  });
});
