/** Ends of logs, as Python 3.11, tqdm, the library and shells write them, and the reason that is found in each. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { linesOf, plainText } from "../../src/reasons/log-lines.ts";
import { type Ending, reasonLimits, reasonOf } from "../../src/reasons/reason.ts";
import { findTracebacks, separateHeaders } from "../../src/reasons/tracebacks.ts";
import { runtimeOf } from "../../src/runtimes/runtimes.ts";

const python: Ending = { code: 1, phase: "query", runtime: runtimeOf("PYTHON"), diskFull: false };
const shell: Ending = { ...python, runtime: runtimeOf("SHELL") };

const reason = (log: string, ending: Ending = python, cut = false) => reasonOf(ending, { plain: plainText(log), cut });

const esc = "\u001b";
const frames = `  File "/data/work/job.py", line 3, in <module>
    load()
    ^^^^^^
  File "/data/work/job.py", line 2, in load
    raise ValueError("no luck")
`;
const traceback = `Traceback (most recent call last):\n${frames}ValueError: no luck\n`;
const bar = "\rProcessed: 0 rows [00:00, ? rows/s]";
const cleared = `\r                                   \r\r${esc}[K`;

describe("the exception of a script is found", () => {
  const logs: Record<string, string> = {
    "at the end of the log": `hello\n${traceback}`,
    "after a progress bar that was cleared": `${bar}${cleared}${traceback}`,
    "after a progress bar that was not": `${bar}${traceback}`,
    "after bars on several lines": `${bar}\n${bar}${esc}[A\n\r      ${esc}[A${esc}[K      ${traceback}`,
    "before a progress bar that is drawn once more": `${traceback}${bar}\r100%|####| 3/3 [00:01<00:00, 2.9it/s]`,
    "after text without a newline": `working... ${traceback}`,
    "after a carriage return": `12%\r13%\r${traceback}`,
    "in colours": traceback
      .replace("Traceback", `${esc}[1;31mTraceback`)
      .replace("ValueError: no luck", `${esc}[1;35mValueError${esc}[0m: ${esc}[35mno luck${esc}[0m`),
    "after a title of the terminal that was never ended": `${esc}]0;working\n${traceback}`,
    "with line ends of another system": traceback.replaceAll("\n", "\r\n"),
    "with a bar drawn among its frames": traceback.replace(
      frames,
      frames.replace("    load()\n", `    load()\n${bar}\n`),
    ),
    "with a bar drawn in front of its last line": traceback.replace("ValueError: no", `${bar}\rValueError: no`),
    "with another process's line among its frames": traceback.replace(
      "    load()\n",
      "    load()\nworker 2 is ready\n",
    ),
    "in front of what handlers of the exit say": `${traceback}Saved 3 files\nGoodbye\n`,
    "in front of an exception that Python ignored": `${traceback}Exception ignored in: <function A.__del__ at 0x7f>
Traceback (most recent call last):\n  File "/data/work/job.py", line 2, in __del__\nTypeError: in del\n`,
    "in front of the one of a thread": `${traceback}Exception in thread Thread-1 (t):
Traceback (most recent call last):\n  File "/data/work/job.py", line 3, in t\nKeyError: 'in thread'\n`,
    "in front of the one of a task that nobody waited for": `${traceback}Task exception was never retrieved
future: <Task finished name='Task-2' coro=<bad() done> exception=KeyError(1)>
Traceback (most recent call last):\n  File "/data/work/job.py", line 2, in bad\nKeyError: 1\n`,
    "in a box": `╭──────── Traceback (most recent call last) ────────╮
│ /data/work/job.py:3 in <module>                   │\n│ ❱ 3 load()                                        │
╰───────────────────────────────────────────────────╯\nValueError: no luck\n`,
  };
  for (const [where, log] of Object.entries(logs)) {
    it(where, () => {
      const { message, stack, found } = reason(log);
      assert.deepEqual([message, found], ["ValueError: no luck", true]);
      assert.match(stack ?? "", /Traceback \(most recent call last\)[\s\S]*ValueError: no luck/);
      assert.ok(!["rows/s", esc, "\r"].some((part) => stack?.includes(part)), stack ?? "");
    });
  }

  it("with the exceptions that it is chained to", () => {
    for (const link of [
      "During handling of the above exception, another exception occurred:",
      "The above exception was the direct cause of the following exception:",
    ]) {
      const first = `Traceback (most recent call last):\n  File "a.py", line 1, in <module>\nZeroDivisionError: division by zero\n`;
      const { message, stack } = reason(`${bar}${first}\n${link}\n\n${traceback}`);
      assert.equal(message, "ValueError: no luck");
      assert.equal(stack, `${first}\n${link}\n\n${traceback}`.trimEnd());
    }
  });

  it("with the one of a process of a pool", () => {
    const { message, stack } = reason(`multiprocessing.pool.RemoteTraceback: \n"""\n${traceback}"""

The above exception was the direct cause of the following exception:\n\n${traceback}`);
    assert.equal(message, "ValueError: no luck");
    assert.match(stack ?? "", /^multiprocessing\.pool\.RemoteTraceback/);
  });

  it("with its notes, and with the informative part of a message", () => {
    const begin = `Traceback (most recent call last):\n${frames}`;
    assert.match(reason(`${begin}ValueError: x\na note\nanother\n`).stack ?? "", /ValueError: x\na note\nanother$/);
    assert.equal(reason(`${begin}ValueError: x\na note\n`).message, "ValueError: x");
    assert.equal(
      reason(
        `${begin}pydantic_core._pydantic_core.ValidationError: 1 validation error for M\nx\n  Input should be a valid integer\n`,
      ).message,
      "pydantic_core._pydantic_core.ValidationError: 1 validation error for M x Input should be a valid integer",
    );
    assert.equal(
      reason(`${begin}AssertionError: \nNot equal to tolerance rtol=1e-07\n`).message,
      "AssertionError Not equal to tolerance rtol=1e-07",
    );
    assert.equal(reason(`${begin}AssertionError\n`).message, "AssertionError");
  });

  it("with the members of an exception group", () => {
    const { message, stack } = reason(`${bar}
  + Exception Group Traceback (most recent call last):
  |   File "/data/work/job.py", line 7, in <module>
  |     asyncio.run(main())
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "/data/work/job.py", line 3, in bad
    |     raise ValueError(f"bad {x}")
    | ValueError: bad 1
    +---------------- 2 ----------------
    | Exception Group Traceback (most recent call last):
    |   File "/data/work/job.py", line 3, in bad
    | ExceptionGroup: inner (1 sub-exception)
    +-+---------------- 1 ----------------
      | KeyError: 'k'
      +------------------------------------
`);
    assert.equal(
      message,
      "ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions): ValueError: bad 1; KeyError: 'k'",
    );
    assert.match(stack ?? "", /^ {2}\+ Exception Group Traceback[\s\S]*-{36}$/);
  });

  it("even if the read part of the log begins in the middle of its traceback", () => {
    const { message, stack } = reason(`nt_call()\n${frames.repeat(3)}RecursionError: too deep\n`, python, true);
    assert.equal(message, "RecursionError: too deep");
    assert.equal(stack, `${frames.repeat(3)}RecursionError: too deep`);
    const link = "During handling of the above exception, another exception occurred:";
    assert.equal(reason(`ror: lost\n\n${link}\n\n${traceback}`, python, true).message, "ValueError: no luck");
  });

  it("only if the read part has its traceback: otherwise more of the log must be read", () => {
    const { found, message } = reason(`${"x".repeat(1000)}\n`, python, true);
    assert.equal(found, false);
    assert.match(message, /^The script ended with exit code 1\. Its log ends with: x{500}$/);
  });

  it("in a shell script if it is the last output of the log", () => {
    assert.equal(reason(`${bar}${traceback}`, { ...shell, code: 1 }).message, "ValueError: no luck");
    assert.match(reason(`${traceback}cp: cannot stat 'x'\n`, shell).message, /exit code 1\. .*cp: cannot stat 'x'$/s);
  });

  it("unless it was reported before the script chose its exit code", () => {
    const { message, stack } = reason(`${traceback}No input files\n`, { ...python, code: 3 });
    assert.match(message, /^The script ended with exit code 3\. .*No input files$/s);
    assert.match(stack ?? "", /ValueError: no luck\nNo input files$/);
    const later = `${traceback}${"still working\n".repeat(31)}No input files\n`;
    assert.match(reason(later).message, /exit code 1\..*No input files$/s);
    const ignored = `Exception ignored in: <function A.__del__>\nTraceback (most recent call last):\n${frames}KeyError: 1\n`;
    assert.match(reason(later + ignored).message, /exit code 1\./);
    assert.equal(reason(traceback + ignored.repeat(9), shell).message, "ValueError: no luck");
  });
});

describe("with functions in parallel the exception of the worker is the reason", () => {
  const site = "/venv/lib/python3.11/site-packages/datachain";
  const worker = (name: string, says: string) => `Process ${name}:
Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/multiprocess/process.py", line 314, in _bootstrap
    self.run()
  File "/data/work/job.py", line 4, in work
    raise ValueError(f"no luck with {n}")
${says}
`;
  const runner = (says: string) => `Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "${site}/query/dispatch.py", line 82, in udf_entrypoint
    UDFDispatcher(udf_info).run_udf(
${says}
`;
  const script = (code: number) => `Traceback (most recent call last):
  File "/data/work/job.py", line 6, in <module>
    dc.read_values(n=list(range(20))).settings(parallel=2).map(m=work).save("x")
  File "${site}/query/dataset.py", line 931, in populate_udf_output_table
    raise RuntimeError(
RuntimeError: UDF Execution Failed! Exit code: ${code}
`;

  it("with its traceback first", () => {
    const says = "ValueError: no luck with 7";
    const { message, stack } = reason(
      `${bar}${worker("Worker-UDF-1", says)}${cleared}${runner(`datachain.lib.udf.UdfRunError: ${says}`)}${script(1)}`,
    );
    assert.equal(message, says);
    assert.match(stack ?? "", /^Traceback[^T]*[\s\S]*line 4, in work[\s\S]*ValueError: no luck with 7\n\nTraceback/);
    assert.match(stack ?? "", /UDF Execution Failed! Exit code: 1$/);
  });

  it("of the worker that the library names, if two failed", () => {
    const { message, stack } = reason(
      worker("Worker-UDF-0", "ValueError: first") +
        worker("Worker-UDF-1", "shop.errors.Odd: second") +
        runner("datachain.lib.udf.UdfRunError: Odd: second") +
        script(1),
    );
    assert.equal(message, "shop.errors.Odd: second");
    assert.doesNotMatch(stack ?? "", /ValueError: first/);
  });

  it("even if the worker's own traceback was not printed, or is not read", () => {
    const log = runner("datachain.lib.udf.UdfRunError: ValueError: no luck with 7") + script(1);
    assert.equal(reason(log).message, "ValueError: no luck with 7");
    assert.equal(
      reason(runner("datachain.lib.udf.UdfRunError: MemoryError: ") + script(1)).message,
      "MemoryError. The script needed more memory than it could get. Process less data at a time, or ask the server's operator for more memory.",
    );
  });

  it("but not one that was reported before and is not the library's", () => {
    assert.equal(reason(traceback + script(1)).message, "RuntimeError: UDF Execution Failed! Exit code: 1");
  });

  it("and if the worker was killed, the signal with its usual cause", () => {
    const gone = "RuntimeError: Worker Worker-UDF-0 exited unexpectedly with code";
    assert.match(
      reason(runner(`${gone} -9`) + script(1)).message,
      /^RuntimeError: Worker Worker-UDF-0 exited unexpectedly with code -9\. It was ended by signal 9 \(SIGKILL\)\. Running out of memory/,
    );
    assert.equal(reason(runner(`${gone} 3`) + script(1)).message, `${gone} 3`);
    assert.equal(
      reason(worker("Worker-UDF-0", "KeyError: 'k'") + runner(`${gone} 1`) + script(1)).message,
      "KeyError: 'k'",
    );
    assert.match(reason(traceback + script(-11)).message, /Exit code: -11\. It was ended by signal 11 \(SIGSEGV\)/);
  });

  it("and the one of a program that a script ran, if nothing is in between", () => {
    const own = `Traceback (most recent call last):\n${frames}subprocess.CalledProcessError: Command 'x' returned non-zero exit status 1.\n`;
    assert.equal(reason(traceback + own).message, "ValueError: no luck");
    assert.match(reason(`${traceback}went on\n${own}`).message, /^subprocess\.CalledProcessError: Command 'x'/);
  });
});

describe("an error says how to fix", () => {
  const raised = (text: string) => reason(`Traceback (most recent call last):\n${frames}${text}\n`).message;

  it("a script that does not parse: its file and line", () => {
    const text = `  File "/data/work/job.py", line 7\n    def f(:\n          ^\nSyntaxError: invalid syntax\n`;
    const { message, stack } = reason(`${bar}\n${text}`);
    assert.equal(message, "SyntaxError: invalid syntax (job.py, line 7)");
    assert.equal(stack, text.trimEnd());
    assert.equal(
      reason(
        `Traceback (most recent call last):\n  File "/data/work/job.py", line 1, in <module>\n    import bad\n${text.replace("job", "bad")}`,
      ).message,
      "SyntaxError: invalid syntax (bad.py, line 7)",
    );
    const encoding = "SyntaxError: Non-UTF-8 code starting with '\\xff' in file /data/work/job.py on line 1";
    assert.equal(reason(`${encoding}\n`).message, encoding);
  });

  it("a missing module: how to require it", () => {
    assert.equal(
      raised("ModuleNotFoundError: No module named 'pandas'"),
      `ModuleNotFoundError: No module named 'pandas'. Add pandas to the job's requirements, or to the dependencies of the script's metadata. If it is a module of your own, attach pandas.py as a file, or use a repository.`,
    );
    assert.match(raised("ModuleNotFoundError: No module named 'yaml'"), /Add PyYAML to .*attach yaml\.py as a file/);
    assert.match(raised("ModuleNotFoundError: No module named 'sklearn.svm'"), /Add scikit-learn to/);
    const part = "ModuleNotFoundError: No module named 'json.x'; 'json' is not a package";
    assert.equal(raised(part), part);
    assert.match(
      raised("ImportError: libGL.so.1: cannot open shared object file: No such file"),
      /system library is missing/,
    );
  });

  it("a full disk, by every error name", () => {
    const room = /The file system is full: .* ask the server's operator to make room\.$/;
    assert.match(raised("OSError: [Errno 28] No space left on device: '/data/x'"), room);
    assert.match(raised("sqlite3.OperationalError: database or disk is full"), room);
    assert.match(reason("cp: error writing 'x': No space left on device\n", shell).message, room);
    const dd = "dd: error writing 'x': No space left on device\n1+0 records in\n0+0 records out\n0 bytes copied\n";
    assert.match(reason(dd, shell).message, room);
    assert.match(
      reason(dd, shell).message,
      /ends with: dd: error writing 'x': No space left on device\n1\+0 records in/,
    );
    const environment = { ...python, phase: "environment" };
    const pip = "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device\n";
    assert.match(reason(`${pip}The virtualenv could not be built\n`, environment).message, room);
    assert.match(reason("", { ...python, diskFull: true }).message, /The server's disk is full, so the log may lack/);
  });

  it("missing memory", () => {
    assert.equal(
      raised("MemoryError"),
      "MemoryError. The script needed more memory than it could get. Process less data at a time, or ask the server's operator for more memory.",
    );
    assert.match(
      raised(
        "concurrent.futures.process.BrokenProcessPool: A process in the process pool was terminated abruptly while the future was running or pending.",
      ),
      /pending\. A worker process of the pool was killed, .*memory is the usual cause\.$/,
    );
  });
});

describe("an exit without an exception", () => {
  it("of a script has the last lines of its log, as a screen would show them", () => {
    const log = `one\ntwo\n1%\r50%\r100%\n\n${esc}[31mthree${esc}[0m\n${bar}${cleared}\n`;
    const { message, stack } = reason(log, { ...shell, code: 3 });
    assert.equal(message, "The script ended with exit code 3. Its log ends with: two\n100%\nthree");
    assert.equal(stack, "one\ntwo\n100%\nthree");
    assert.equal(
      reason("no input files\n").message,
      "The script ended with exit code 1. Its log ends with: no input files",
    );
    assert.deepEqual(reason("", { ...shell, code: 4 }), {
      message: "The script ended with exit code 4. It wrote nothing to its log.",
      stack: null,
      found: true,
    });
  });

  it("of a program that is missing, cannot run, or is not bash, says so", () => {
    const missing = reason("./job.sh: 1: nosuch: not found\n", { ...shell, code: 127 }).message;
    assert.match(missing, /exit code 127\. A program was not found\. Its log ends with: .*nosuch: not found$/);
    assert.match(reason("", { ...shell, code: 126 }).message, /not executable/);
    assert.match(reason("job.sh: 1: set: Illegal option -o pipefail\n", shell).message, /#!\/bin\/bash\.$/);
  });

  it("by a signal has the signal's name and its usual cause", () => {
    const by = (code: number, log = "") => reason(log, { ...python, code });
    assert.match(by(137).message, /^The script was ended by signal 9 \(SIGKILL\)\. Running out of memory is the usual/);
    assert.match(by(139).message, /signal 11 \(SIGSEGV\)\. That is a segmentation fault: .*PYTHONFAULTHANDLER=1/);
    assert.match(by(143).message, /signal 15 \(SIGTERM\)\. Millrace did not send it: the script itself, /);
    assert.match(by(135).message, /SIGBUS.*\/dev\/shm is full/);
    assert.match(by(153).message, /SIGXFSZ.*MILLRACE_JOB_DISK/);
    assert.match(by(134, "terminate called: std::bad_alloc\n").message, /SIGABRT.*ends with: .*std::bad_alloc$/);
    assert.equal(by(255).message, "The script ended with exit code 255. It wrote nothing to its log.");
  });

  it("by a signal has Python's message about it", () => {
    const fault = `Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007feb673feb80 (most recent call first):
  File "/data/work/job.py", line 3 in <module>\n`;
    assert.equal(reason(`${bar}\n${fault}`, { ...python, code: 139 }).stack, fault.trimEnd());
    const { message, stack } = reason(traceback, { ...python, code: 130 });
    assert.match(message, /SIGINT/);
    assert.equal(stack, traceback.trimEnd());
  });

  it("before the script started says what failed", () => {
    const at = (phase: string, log: string) => reason(log, { ...python, phase });
    assert.equal(
      at("repository", "Cloning into '.'...\nfatal: repository 'https://host/x/' not found\n").message,
      "The repository could not be cloned: fatal: repository 'https://host/x/' not found",
    );
    assert.equal(
      at(
        "environment",
        "  × No solution found when resolving dependencies:\n  ╰─▶ Because there are no versions of nosuch and you require nosuch, we can\n      conclude that your requirements are unsatisfiable.\nThe virtualenv could not be built\n",
      ).message,
      "The environment could not be built: No solution found when resolving dependencies: Because there are no versions of nosuch and you require nosuch, we can conclude that your requirements are unsatisfiable.",
    );
    assert.equal(
      at(
        "environment",
        "Using Python 3.11.7 environment at: /venv\nerror: No solution found when resolving dependencies\n  cause: Because there is no version of six==0.0.0.404 and you require six==0.0.0.404, we can conclude that your requirements are unsatisfiable.\nThe virtualenv could not be built\n",
      ).message,
      "The environment could not be built: error: No solution found when resolving dependencies cause: Because there is no version of six==0.0.0.404 and you require six==0.0.0.404, we can conclude that your requirements are unsatisfiable.",
    );
    assert.equal(
      at(
        "repository",
        "Cloning into '.'...\ngit@host: Permission denied (publickey).\nfatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n",
      ).message,
      "The repository could not be cloned: git@host: Permission denied (publickey). fatal: Could not read from remote repository.",
    );
    assert.equal(
      at("datasets", "The team's warehouse is gone.\n").message,
      "The team's datasets could not be prepared: The team's warehouse is gone.",
    );
    assert.equal(at("files", "one\ntwo\n").stack, "one\ntwo");
    assert.equal(
      at("files", "").message,
      "The job's files could not be copied to its working folder: The script ended with exit code 1.",
    );
  });
});

/** The same lines, with a count of how often one of them was read. */
function counted(lines: readonly string[]) {
  let count = 0;
  const get = (target: readonly string[], key: string | symbol) => {
    if (typeof key === "string" && /^\d+$/.test(key)) count++;
    return Reflect.get(target, key);
  };
  return { lines: new Proxy(lines, { get }), looks: () => count };
}

describe("a reason is bounded", () => {
  it("in bytes, without splitting a character, and keeps the remedy", () => {
    for (const filler of ["x", "ü", "😀", "\ufffd"]) {
      const { message, stack } = reason(
        `Traceback (most recent call last):\n${frames}ValueError: ${filler.repeat(200_000)}\n`,
      );
      assert.ok(Buffer.byteLength(message) <= reasonLimits.message);
      assert.ok(Buffer.byteLength(message) > reasonLimits.message - 4);
      assert.ok(message.endsWith(filler), message.slice(-10));
      assert.ok(Buffer.byteLength(stack ?? "") <= reasonLimits.stack);
      assert.ok(stack?.startsWith(`Traceback (most recent call last):\n${frames}ValueError: ${filler}`));
    }
    const long = reason(
      `Traceback (most recent call last):\n${frames}OSError: [Errno 28] ${"x".repeat(9000)}\n`,
    ).message;
    assert.match(long, /x\. The file system is full/);
    assert.ok(Buffer.byteLength(long) <= reasonLimits.message);
  });

  it("in work: each line is read a few times, whatever the log", () => {
    const size = 32 * 1024;
    const hostile = {
      frames: '  File "a.py", line 1, in f\n',
      headers: "Traceback (most recent call last):\n",
      "frames and other lines": '  File "a.py", line 1, in f\nx y\n',
      chains: `Traceback (most recent call last):\n  File "a"\nE\nDuring handling of the above exception, another\n`,
      wrappers: "Traceback (most recent call last):\nRuntimeError: UDF Execution Failed! Exit code: 1\n",
      workers:
        "Process A:\nTraceback (most recent call last):\nRuntimeError: Worker B exited unexpectedly with code 1\n",
      groups: "  + Exception Group Traceback (most recent call last):\n  | A: (1 sub-exception)\n",
      escapes: `${esc}[0`,
      titles: `${esc}]0`,
      brackets: "[00:00<",
      margins: "  + Exception Group Traceback (most recent call last):\n  | ",
      "an endless margin": `  + Exception Group Traceback (most recent call last):\n  ${"| ".repeat(500_000)}x\u2028\n`,
      separators: "\u2028",
      blanks: "\n",
      returns: "\r",
    };
    for (const [name, part] of Object.entries(hostile)) {
      for (const cut of [false, true]) {
        const log = part.repeat(Math.ceil(size / part.length));
        const { lines, looks } = counted(separateHeaders(linesOf(plainText(log))));
        findTracebacks(lines, cut);
        assert.ok(looks() <= 60 * lines.length, `${name}: ${looks()} looks at ${lines.length} lines`);
        const { message, stack } = reason(log, python, cut);
        assert.ok(Buffer.byteLength(message) <= reasonLimits.message, name);
        assert.ok(Buffer.byteLength(stack ?? "") <= reasonLimits.stack, name);
      }
    }
  });
});
