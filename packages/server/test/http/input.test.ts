import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readConfig } from "../../src/configuration/config.ts";
import { readFileIds, safeFilename } from "../../src/domain/jobs/files.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { readEnvironment } from "../../src/domain/secrets/environment-text.ts";
import { checkCron, nextTick, readTime } from "../../src/domain/time/ticks.ts";
import { satisfies } from "../../src/engines/local/environments/interpreters.ts";
import { quote } from "../../src/engines/local/processes/shell.ts";
import { splitRevision } from "../../src/engines/phases/job-script.ts";
import { namesFiles } from "../../src/engines/phases/requirement-lines.ts";
import { readRange } from "../../src/http/jobs/logs.ts";
import { readScriptMetadata } from "../../src/runtimes/script-metadata.ts";

describe("environment", () => {
  it("consists of NAME=VALUE lines with quotes, comments and blank lines", () => {
    assert.deepEqual(readEnvironment(`\n# note\nA=1\nB="two words"\n\nC='x=y'\nexport D=4\n`), {
      A: "1",
      B: "two words",
      C: "x=y",
      D: "4",
    });
  });
  it("may hold quoted values over several lines", () => {
    assert.deepEqual(readEnvironment(`KEY="line 1\nline 2"\nB=2`), { KEY: "line 1\nline 2", B: "2" });
  });
  it("is counted before it is parsed, whatever the names look like; lines of a quoted value do not count", () => {
    // Parsed, each of these would be one variable.
    for (const line of ["é=1\n", "1-a=1\n", '# ="\nA=1\n'])
      assert.throws(() => readEnvironment(line.repeat(3000)), /at most 1000 variables/);
    // Only some parsers treat these as line ends; scanning from each of them to the end of the text would take minutes.
    for (const odd of ["\r", "\u2028", '\r="', "='\r", " "])
      assert.throws(() => readEnvironment(`${odd.repeat(60_000)}x`), /NAME=VALUE in line 1/);
    const long = "KEY=VALUE\n".repeat(3000);
    assert.deepEqual(readEnvironment(`FILE='${long}'\nB=2`), { FILE: long, B: "2" });
  });
  it("with a line without = is refused by its line number, without repeating the line", () => {
    assert.throws(
      () => readEnvironment("A=1\nhunter2\n"),
      (error: Error) => /line 2/.test(error.message) && !/hunter2/.test(error.message),
    );
  });
  it("with a name that a shell could not export is refused", () => {
    assert.throws(() => readEnvironment("MY-NAME=1"), /environment: expected variable names/);
  });
});

describe("names of uploaded files", () => {
  const cases: [string, string][] = [
    ["data.csv", "data.csv"],
    ["../../etc/passwd", "passwd"],
    ["C:\\temp\\x.txt", "x.txt"],
    ["..", "file"],
    ["", "file"],
    ["a\0b\nc", "abc"],
    ["日本.txt", "日本.txt"],
  ];
  for (const [given, expected] of cases)
    it(`${JSON.stringify(given)} becomes ${expected}`, () => assert.equal(safeFilename(given), expected));
  it("fit a file system and keep their extension", () => {
    const name = safeFilename(`${"é".repeat(300)}.parquet`);
    assert.ok(Buffer.byteLength(name) <= 255);
    assert.ok(name.endsWith(".parquet"));
  });
  it("are not mistaken for ids", () => assert.throws(() => readFileIds(["data.csv"]), /files: expected ids/));
});

describe("start_after", () => {
  it("without an offset is read in the server's time zone", () => {
    assert.equal(readTime("2030-07-01T08:30", "Europe/Berlin", "start_after"), "2030-07-01T06:30:00.000Z");
    assert.equal(readTime("2030-01-01 08:30:15", "America/New_York", "start_after"), "2030-01-01T13:30:15.000Z");
  });
  it("with an offset means that moment", () => {
    assert.equal(readTime("2030-01-01T08:30:00+02:00", "Asia/Tokyo", "start_after"), "2030-01-01T06:30:00.000Z");
    assert.equal(readTime("2030-01-01T08:30:00.123456Z", "Asia/Tokyo", "start_after"), "2030-01-01T08:30:00.123Z");
  });
  for (const bad of ["tomorrow", "2030-02-31T00:00", "2030-13-01", "2030-01-01T25:00", ""]) {
    it(`${JSON.stringify(bad)} is refused`, () =>
      assert.throws(() => readTime(bad, "UTC", "start_after"), /start_after: expected a /));
  }
});

describe("cron expressions", () => {
  it("have five fields or one of the names", () => {
    for (const good of [
      "*/5 * * * *",
      "0 3 * * 1-5",
      "@hourly",
      "@daily",
      "@midnight",
      "@weekly",
      "@monthly",
      "@yearly",
      "@annually",
    ]) {
      assert.equal(checkCron(good), good);
      assert.ok(nextTick(good, "UTC", Date.UTC(2030, 0, 1)), good);
    }
  });
  for (const bad of ["* * * *", "* * * * * *", "61 * * * *", "@reboot", "never"]) {
    it(`${bad} is refused`, () =>
      assert.throws(() => checkCron(bad), /cron_expression: expected five cron fields(?!.*CronPattern)/));
  }
  it("tick strictly after the given moment", () => {
    assert.equal(nextTick("0 * * * *", "UTC", Date.UTC(2030, 0, 1, 5)), Date.UTC(2030, 0, 1, 6));
    assert.equal(nextTick("@midnight", "UTC", Date.UTC(2030, 0, 1, 5)), Date.UTC(2030, 0, 2));
  });
});

describe("script metadata", () => {
  const script = `# /// script\n# requires-python = ">=3.12"\n# dependencies = [\n#   "six",\n#   "toolz<1",\n# ]\n# [tools.datachain.workers]\n# num_workers = 2\n# [tools.datachain.params]\n# limit = 3\n# ///\nprint(1)\n`;
  it("gives requirements, version, workers and params", () => {
    assert.deepEqual(readScriptMetadata(script), {
      requirements: "six\ntoolz<1",
      pythonVersion: ">=3.12",
      workers: 2,
      params: { limit: "3" },
    });
  });
  it("is optional", () => assert.deepEqual(readScriptMetadata("print(1)"), {}));
  it("that is invalid is refused", () =>
    assert.throws(() => readScriptMetadata("# /// script\n# a = [\n# ///\n"), /script metadata/));
  it("with ineffective limits is refused: misspelt, or in the wrong table", () => {
    const written = (table: string, line: string) => `# /// script\n# [${table}]\n# ${line}\n# ///\n`;
    assert.deepEqual(readScriptMetadata(written("tool.millrace", "retries = 3")), { retries: 3 });
    assert.throws(
      () => readScriptMetadata(written("tool.millrace", "retry = 3")),
      /timeout, retries, retry_delay below \[tool\.millrace\], got "retry"/,
    );
    assert.throws(
      () => readScriptMetadata(written("tools.datachain", 'timeout = "2s"')),
      /timeout below \[tool\.millrace\], not \[tools\.datachain\]/,
    );
  });
  it("is found without parsing a long query", (t) => {
    const split = t.mock.method(RegExp.prototype, Symbol.split);
    const query = `${"\n".repeat(1_000_000)}# /// script\r\n# requires-python = ">=3.11"\r\n# ///\r\n${"x = 1\n".repeat(100_000)}`;
    assert.deepEqual(readScriptMetadata(query), { pythonVersion: ">=3.11" });
    assert.deepEqual(readScriptMetadata("\n".repeat(1_000_000)), {});
    const longest = Math.max(...split.mock.calls.map(({ arguments: [text] }) => String(text).length));
    assert.ok(longest < 300_000, `${longest} characters at once`);
    assert.throws(
      () => readScriptMetadata(`# /// script\n${"# a\n".repeat(200_000)}# ///\n`),
      /script metadata.*at most/,
    );
  });
});

describe("repository", () => {
  const cases: [string, string, string][] = [
    ["https://host/org/repo.git", "https://host/org/repo.git", ""],
    ["https://host/org/repo.git@main", "https://host/org/repo.git", "main"],
    ["https://user@host/org/repo", "https://user@host/org/repo", ""],
    ["https://user@host/org/repo@feature/x", "https://user@host/org/repo", "feature/x"],
    ["git@host:org/repo.git", "git@host:org/repo.git", ""],
    ["git@host:org/repo.git@v1.2", "git@host:org/repo.git", "v1.2"],
    ["file:///srv/repo@abc", "file:///srv/repo", "abc"],
  ];
  for (const [given, url, revision] of cases)
    it(given, () => assert.deepEqual(splitRevision(given), { url, revision }));
});

describe("requirements", () => {
  const plain = [
    "six",
    "six==1.17.0 # why",
    "Requests[socks] >= 2, < 3; python_version < '3.13'",
    "--index-url https://index.example/simple\n--pre\n# a comment\n\nsix",
    "a @ https://files.example/a-1.0-py3-none-any.whl",
    "a @ git+https://git.example/a.git@1f0c",
  ];
  for (const text of plain)
    it(`name no local file: ${JSON.stringify(text)}`, () => assert.equal(namesFiles(text), false));

  const local = [
    "-r more.txt",
    "-cmore.txt",
    "--constraint=c.txt",
    "./dist/a-1.0.whl",
    "a-1.0.whl ; python_version > '3'",
    "a @ file:///srv/a.whl",
    "-e .",
    "six \\\n -r x",
    "--find-links wheels",
    "--index-url file:///srv/index",
    "--new-option x",
  ];
  for (const text of local) it(`may name one: ${JSON.stringify(text)}`, () => assert.equal(namesFiles(text), true));
});

describe("a Python version", () => {
  const cases: [string, string, boolean][] = [
    ["3.12.1", "3.12", true],
    ["3.12.1", "3.1", false],
    ["3.12.1", "3.12.1", true],
    ["3.12.1", ">=3.10,<3.13", true],
    ["3.13.0", ">=3.10,<3.13", false],
    ["3.12.1", "~=3.11", true],
    ["3.12.1", "!=3.12.*", false],
    ["3.12.1", "banana", false],
  ];
  for (const [version, wanted, fits] of cases)
    it(`${version} ${fits ? "fits" : "does not fit"} ${wanted}`, () => assert.equal(satisfies(version, wanted), fits));
});

describe("a byte range", () => {
  it("is parsed as RFC 9110 says", () => {
    assert.deepEqual(readRange("bytes=0-9", 100), { start: 0, end: 10 });
    assert.deepEqual(readRange("bytes=90-", 100), { start: 90, end: 100 });
    assert.deepEqual(readRange("bytes=-5", 100), { start: 95, end: 100 });
    assert.deepEqual(readRange("bytes=50-999", 100), { start: 50, end: 100 });
    assert.equal(readRange("bytes=100-", 100), "unsatisfiable");
    assert.equal(readRange("bytes=5-1", 100), undefined);
    assert.equal(readRange("lines=1-2", 100), undefined);
    assert.equal(readRange(undefined, 100), undefined);
  });
});

describe("ids of jobs", () => {
  it("are UUIDv7 in the order of creation, also within a millisecond and when the clock steps back", () => {
    const ids = [...Array(10_000).keys()].map((i) => newJobId(1_900_000_000_000 - (i % 7)));
    assert.deepEqual(ids, [...ids].sort());
    assert.equal(new Set(ids).size, ids.length);
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });
});

it("shell quoting keeps every character", () => assert.equal(quote("it's $HOME"), `'it'\\''s $HOME'`));

describe("settings", () => {
  it("come from flags, then the environment, then defaults", () => {
    const config = readConfig({ port: "1" }, { MILLRACE_PORT: "2", MILLRACE_HOST: "0.0.0.0" });
    assert.deepEqual([config.listening.port, config.listening.host, config.jobs.cancelGrace], [1, "0.0.0.0", 10]);
    assert.deepEqual(
      ["MILLRACE_PORT", "MILLRACE_HOST", "MILLRACE_CANCEL_GRACE"].map((name) => config.sources[name]),
      ["flag", "environment", "default"],
    );
  });
  it("that are invalid are refused by name, with what was expected", () => {
    assert.throws(() => readConfig({ port: "http" }, {}), /--port: expected a whole number/);
    assert.throws(() => readConfig({}, { MILLRACE_UPLOAD_LIMIT: "big" }), /MILLRACE_UPLOAD_LIMIT: expected a size/);
    assert.throws(() => readConfig({}, { MILLRACE_TIMEZONE: "Mars/Base" }), /MILLRACE_TIMEZONE: expected an IANA/);
    for (const url of ["mysql://h/d", "postgres://u:p@h:port/d", "postgres://u:p@h1:1,h2:2/d", "postgres://h1,h2/d"])
      assert.throws(
        () => readConfig({}, { MILLRACE_DATABASE_URL: url }),
        /DATABASE_URL: expected a postgres:\/\/ URL/,
        url,
      );
    for (const url of ["", "postgres://u:p@h:5432/d?sslmode=require", "postgresql:///d?host=/run/postgresql"])
      assert.equal(readConfig({}, { MILLRACE_DATABASE_URL: url }).data.databaseUrl, url);
  });
  it("that are secret are not repeated in an error", () => {
    assert.throws(
      () => readConfig({}, { MILLRACE_DATABASE_URL: "mysql://u:hunter2@h" }),
      (error: Error) => !/hunter2/.test(error.message),
    );
  });
  it("pass paths, proxies and package indexes to jobs, and no other variable of the server", () => {
    const { jobEnvironment } = readConfig(
      {},
      { PATH: "/bin", PIP_INDEX_URL: "i", HTTPS_PROXY: "p", AWS_SECRET_ACCESS_KEY: "s", MILLRACE_PORT: "1" },
    );
    assert.deepEqual(jobEnvironment, { PATH: "/bin", PIP_INDEX_URL: "i", HTTPS_PROXY: "p" });
  });
});
