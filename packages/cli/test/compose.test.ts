/** The job that `millrace job run` sends: the same text as the `datachain` client would send. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { parseEnv } from "node:util";
import { environmentText, type Job } from "@millrace/contract";
import type { Input } from "../src/arguments.ts";
import { composeJob, composeRerun, joinTexts } from "../src/job/compose.ts";
import { parseStartTime } from "../src/job/start-time.ts";
import { parseCommandLine } from "../src/parse.ts";

const folder = mkdtempSync(join(tmpdir(), "millrace-compose-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, text: string | Uint8Array): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

function compose(...words: string[]) {
  const invocation = parseCommandLine(["job", "run", ...words]);
  assert.ok(invocation.kind === "run");
  return composeJob(invocation.input as unknown as Input<"job run">);
}

describe("environment and requirements", () => {
  it("are empty strings if nothing is given", () => {
    const { environment, requirements } = compose(file("a.sh", "true"));
    assert.deepEqual([environment, requirements], ["", ""]);
  });
  it("are the items, one per line", () => {
    assert.equal(joinTexts(undefined, ["A=1", "B=2"]), "A=1\nB=2");
  });
  it("are the file's text, a line end, then the items: blank lines occur, as in the client", () => {
    assert.equal(joinTexts(file("env", "A=1\n"), ["B=2", "C=3"]), "A=1\n\nB=2\nC=3");
    assert.equal(joinTexts(file("env", "A=1"), []), "A=1\n");
  });
  it("have plain line ends, as Python reads text", () => {
    assert.equal(joinTexts(file("env", "A=1\r\nB=2\rC=3\n"), []), "A=1\nB=2\nC=3\n\n");
  });
});

describe("a script in a repository", () => {
  it("is sent as a path, not as text; its extension selects the interpreter, whatever the job's name", () => {
    const words = ["--repository", "https://git.example/etl.git@main", "--script", "etl/report.py"];
    const { query, script, query_type, query_name, requirements } = compose(...words, "--req=-r requirements.txt");
    assert.deepEqual(
      [query, script, query_type, query_name, requirements],
      [undefined, "etl/report.py", "PYTHON", "report.py", "-r requirements.txt"],
    );
    assert.deepEqual([compose(...words, "--name", "nightly").query_type], ["PYTHON"]);
  });
  it("needs a repository, and replaces FILE", () => {
    assert.throws(() => compose("--script", "etl/report.py"), /--script needs --repository/);
    assert.throws(
      () => compose(file("a.sh", "true"), "--script", "x", "--repository", "https://h/r.git"),
      /FILE and --script cannot be combined/,
    );
    assert.throws(() => compose("--repository", "https://h/r.git"), /FILE is missing/);
  });
  it("is sent again unchanged by a rerun", () => {
    const inRepository = { ...job, query: "", script: "etl/report.py" };
    const { query, script } = composeRerun(inRepository, false);
    assert.deepEqual([query, script], [undefined, "etl/report.py"]);
  });
});

describe("a job", () => {
  it("has the same fields as the client sends", () => {
    const script = file("query.py", "print(1)\n");
    assert.deepEqual(compose(script), {
      query: "print(1)\n",
      query_type: "PYTHON",
      query_name: "query.py",
      environment: "",
      requirements: "",
      workers: null,
      python_version: null,
      repository: null,
      tags: [],
      priority: 5,
      compute_cluster_name: null,
      credentials_name: null,
      start_after: null,
      cron_expression: null,
      reset: false,
    });
  });
  it("accepts every flag", () => {
    const script = file("x.sh", "true");
    const job = compose(
      script,
      ...["--workers", "2", "--python-version", "3.12", "--repository", "https://x/y.git@main", "--priority", "0"],
      ...["--cluster", "big", "-c", "aws", "--cron", "@daily", "--ignore-checkpoints"],
      ...["--start-time", "2026-01-31T09:00Z", "--env", "A=1", "--req", "x", "y"],
      ...["--tag", "nightly", "eu/west"],
    );
    const { query, query_type, query_name, ...rest } = job;
    assert.deepEqual([query, query_type, query_name], ["true", "SHELL", "x.sh"]);
    assert.deepEqual(rest, {
      environment: "A=1",
      requirements: "x\ny",
      workers: 2,
      python_version: "3.12",
      repository: "https://x/y.git@main",
      tags: ["nightly", "eu/west"],
      priority: 0,
      compute_cluster_name: "big",
      credentials_name: "aws",
      start_after: "2026-01-31T09:00:00.000Z",
      cron_expression: "@daily",
      reset: true,
    });
  });
  it("is Python for .py, TypeScript for .ts, and a shell script otherwise", () => {
    const types = ["a.py", "a.ts", "a.sh", "a"].map((name) => compose(file(name, "")).query_type);
    assert.deepEqual(types, ["PYTHON", "TYPESCRIPT", "SHELL", "SHELL"]);
  });
  it("is refused if its file is missing or is not text", () => {
    assert.throws(() => compose(join(folder, "absent.py")), { exitCode: 64, why: /ENOENT/ });
    assert.throws(() => compose(file("a.bin", Uint8Array.of(0xff, 0xfe))), { why: "The content is not UTF-8 text" });
  });
});

const job: Job = {
  ...{ id: "0196f1aa-0000-7000-8000-000000000001", url: "", status: "FAILED", name: "q.py", team: "main" },
  ...{ created_by: "admin", created_at: "", started_at: null, finished_at: null, query: "print(1)" },
  ...{ query_type: "PYTHON", workers: 2, python_version: "3.12", requirements: "x\n", repository: null },
  ...{
    environment: { A: "1" },
    files: ["7"],
    tags: ["eu"],
    priority: 3,
    compute_cluster_id: 1,
    compute_cluster_name: "local",
  },
  ...{ credentials_name: null, start_after: "2026-01-01T00:00:00Z", cron_expression: "@daily", next_run: null },
  ...{
    retried: 0,
    reset: true,
    exit_code: 1,
    error_message: "x",
    error_stack: null,
    params: { p: 1 },
    metrics: { m: 2 },
  },
  ...{ parent_job_id: null, pipeline_id: null, rerun_from_job_id: null, run_group_id: "", steps: null },
};

describe("parameters", () => {
  const script = file("p.py", "print(1)\n");
  it("are absent unless given, so that those of the script's metadata apply", () => {
    assert.ok(!("params" in compose(script)));
  });
  it("are strings by name, or any values in a JSON object, and later ones win", () => {
    const { params } = compose(script, "--params", "day=2026-01-31", "q=a=b", '{"limit": 10, "day": null}');
    assert.deepEqual(params, { day: null, q: "a=b", limit: 10 });
  });
  it("in another form are refused", () => {
    assert.throws(() => compose(script, "--params", "day"), /--params: 'day' has no value/);
    assert.throws(() => compose(script, "--params", "{day}"), /--params: invalid JSON object/);
  });
  it("of a rerun override those of the job", () => {
    assert.deepEqual(composeRerun(job, false, ["q=2", "p=3"]).params, { p: "3", q: "2" });
  });
});

describe("a name", () => {
  it("may be given, and selects the interpreter of the script", () => {
    const { query_name, query_type } = compose(file("x", "echo"), "--name", "report.py");
    assert.deepEqual([query_name, query_type], ["report.py", "PYTHON"]);
  });
});

describe("credentials", () => {
  const script = file("c.sh", "true");
  it("of one set are sent as the client does, and an empty name means none", () => {
    assert.equal(compose(script, "-c", "aws").credentials_name, "aws");
    assert.equal(compose(script, "-c", "").credentials_name, "");
  });
  it("of several sets are all sent", () => {
    const { credentials_name, credentials_names } = compose(script, "-c", "aws", "-c", "git");
    assert.deepEqual([credentials_name, credentials_names], [undefined, ["aws", "git"]]);
  });
});

describe("a rerun", () => {
  it("repeats what the job did, not its times, and names the original job", () => {
    assert.deepEqual(composeRerun(job, false), {
      query: "print(1)",
      query_type: "PYTHON",
      query_name: "q.py",
      environment: "A=1",
      requirements: "x\n",
      workers: 2,
      python_version: "3.12",
      repository: null,
      files: ["7"],
      tags: ["eu"],
      priority: 3,
      compute_cluster_name: "local",
      credentials_name: null,
      params: { p: 1 },
      rerun_from_job_id: job.id,
      reset: false,
    });
  });
  it("names all credentials of the job", () => {
    const several = { ...job, credentials_name: "aws", credentials_names: ["aws", "git"] };
    assert.deepEqual(composeRerun(several, false).credentials_names, ["aws", "git"]);
    assert.equal(composeRerun({ ...job, credentials_name: "aws" }, false).credentials_name, "aws");
  });
  it("serialises its environment so that the server parses the same values", () => {
    const environment = {
      PLAIN: "a/b:c=1",
      EMPTY: "",
      SPACES: " a b # c ",
      DOUBLE: '{"x": 1}',
      SINGLE: "it's",
      BOTH: `it's "x"`,
      LINES: "a\nb\n",
      BACKSLASH: "C:\\new it's",
      DOLLAR: "$HOME $1",
    };
    assert.deepEqual({ ...parseEnv(environmentText(environment)) }, environment);
    assert.throws(() => composeRerun({ environment: { A: "' \" `" } } as never, false), {
      message: /A of the job cannot be sent again/,
    });
  });
});

describe("--start-time", () => {
  // A Wednesday.
  const now = new Date(2026, 0, 14, 12, 0, 0);
  const at = (text: string) => new Date(parseStartTime(text, now));
  const local = (day: number, hours = 0, minutes = 0) => new Date(2026, 0, day, hours, minutes);

  it("is a date with an offset, or one in the user's own time zone", () => {
    assert.equal(parseStartTime("2026-01-31T09:00+02:00", now), "2026-01-31T07:00:00.000Z");
    assert.equal(parseStartTime("2026-01-31 09:00:30 +0200", now), "2026-01-31T07:00:30.000Z");
    assert.deepEqual(at("2026-01-31T09:00"), local(31, 9));
    assert.deepEqual(at("2026-01-31"), local(31));
  });
  it("may be a duration from now", () => {
    assert.deepEqual(at("in 2 hours"), local(14, 14));
    assert.deepEqual(at("in an hour"), local(14, 13));
    assert.deepEqual(at("in 90 minutes"), local(14, 13, 30));
    assert.deepEqual(at("now"), now);
  });
  it("may be the next such day and hour", () => {
    assert.deepEqual(at("tomorrow 9am"), local(15, 9));
    assert.deepEqual(at("tomorrow at 3:30 PM"), local(15, 15, 30));
    assert.deepEqual(at("monday 18:30"), local(19, 18, 30));
    assert.deepEqual(at("wednesday 18:30"), local(14, 18, 30));
    assert.deepEqual(at("wednesday 9am"), local(21, 9));
    assert.deepEqual(at("18:30"), local(14, 18, 30));
    assert.deepEqual(at("9am"), local(15, 9));
    assert.deepEqual(at("12am"), local(15, 0));
  });
  it("is refused with examples if it cannot be parsed", () => {
    for (const text of ["", "soon", "yesterday 9am", "25:00", "13pm", "2026-13-01", "monday 9"]) {
      assert.throws(() => parseStartTime(text, now), { exitCode: 64, why: /in 2 hours/ }, text);
    }
  });
});
