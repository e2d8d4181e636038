/** Output for people on a terminal, and for programs in a pipe. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { backfillColumns } from "../src/commands/backfill.ts";
import { scheduleColumns } from "../src/commands/schedule.ts";
import { taskColumns } from "../src/commands/task.ts";
import { listColumns, previewColumns, versionsTable } from "../src/dataset/view.ts";
import { CliError, messageOf } from "../src/errors.ts";
import { type Column, Output, type Sink } from "../src/output.ts";
import { displayWidth } from "../src/table-layout.ts";
import { distanceText } from "../src/wall-clock.ts";

class Screen implements Sink {
  text = "";
  readonly isTTY: boolean;
  readonly columns: number;
  constructor(isTTY: boolean, columns = 80) {
    this.isTTY = isTTY;
    this.columns = columns;
  }
  write(text: string | Uint8Array): boolean {
    this.text += typeof text === "string" ? text : new TextDecoder().decode(text);
    return true;
  }
  once(): void {}
}

function screens(options: { terminal: boolean; columns?: number; color?: boolean }) {
  const stdout = new Screen(options.terminal, options.columns);
  const stderr = new Screen(options.terminal, options.columns);
  return { stdout, stderr, output: new Output(stdout, stderr, options.color ?? false) };
}

interface Row {
  readonly name: string;
  readonly time: string;
}
const columns: Column<Row>[] = [
  { title: "NAME", full: ({ name }) => name, shrinks: true },
  { title: "TIME", full: ({ time }) => time, short: () => "now", style: () => "green" },
  { title: "HIDDEN", full: () => "for programs", short: null },
];
const rows = [
  { name: "a", time: "2026-01-01" },
  { name: "a longer name than the other", time: "2026-01-02" },
];

describe("a table", () => {
  it("has titles and aligned, short values on a terminal", () => {
    const { stdout, output } = screens({ terminal: true });
    output.table(columns, rows);
    assert.equal(
      stdout.text,
      "NAME                          TIME\na                             now\na longer name than the other  now\n",
    );
  });
  it("assumes 80 columns if the terminal does not report its width", () => {
    const { stdout, output } = screens({ terminal: true, columns: 0 });
    output.table(columns, rows);
    assert.equal(stdout.text.split("\n")[2], "a longer name than the other  now");
  });
  it("fits a narrow terminal if a column may shrink", () => {
    const { stdout, output } = screens({ terminal: true, columns: 20 });
    output.table(columns, rows);
    assert.equal(stdout.text.split("\n")[2], "a longer name…  now");
  });
  it("shortens names last: other columns shrink, the rightmost are omitted, and a note says so", () => {
    const wide: Column<Row>[] = [
      { title: "NAME", full: ({ name }) => name, shrinks: "last" },
      { title: "STATE", full: () => "COMPLETE" },
      { title: "NOTE", full: () => "what somebody had to say of it", shrinks: true },
      { title: "BY", full: () => "somebody", shrinks: true },
    ];
    const name = "@somebody.default.numbers";
    const table = (width: number) => {
      const { stdout, stderr, output } = screens({ terminal: true, columns: width });
      output.table(wide, [{ name, time: "" }]);
      return [stdout.text.split("\n")[1], stderr.text];
    };
    assert.deepEqual(table(65), [`${name}  COMPLETE  what somebody had…  somebody`, ""]);
    assert.deepEqual(table(50), [`${name}  COMPLETE  what somebod…`, "Columns that do not fit: BY\n"]);
    assert.deepEqual(table(40), [`${name}  COMPLETE`, "Columns that do not fit: NOTE, BY\n"]);
    assert.deepEqual(table(30)[0], "@somebody.default.n…  COMPLETE");
  });
  it("with similar columns shortens the widest first", () => {
    const { stdout, output } = screens({ terminal: true, columns: 60 });
    const row = { path: "p".repeat(60), short: "12345", note: "n".repeat(40) };
    output.table(previewColumns([row]), [row]);
    const [, line = ""] = stdout.text.split("\n");
    assert.deepEqual(
      line.split("  ").map((cell) => cell.length),
      [25, 5, 26],
    );
  });
  it("has full values separated by tabs and no titles in a pipe", () => {
    const { stdout, output } = screens({ terminal: false });
    output.table(columns, rows);
    assert.equal(stdout.text, "a\t2026-01-01\tfor programs\na longer name than the other\t2026-01-02\tfor programs\n");
  });
  it("keeps a row on one line, whatever a value contains", () => {
    const odd = [{ name: "tab\tline\nend", time: "" }];
    const piped = screens({ terminal: false });
    piped.output.table(columns, odd);
    assert.equal(piped.stdout.text, "tab\\tline\\nend\t\tfor programs\n");
    const shown = screens({ terminal: true });
    shown.output.table(columns, odd);
    assert.match(shown.stdout.text, /^tab line end {2}now$/m);
  });
  it("removes control sequences from names of other people", () => {
    const { stdout, output } = screens({ terminal: true });
    output.table(columns, [{ name: "\u001b[2Jevil\u0007", time: "" }]);
    assert.ok(!stdout.text.includes("\u001b") && !stdout.text.includes("\u0007"));
  });
  it("removes them from results, notes and progress, too, and from nothing in a pipe", () => {
    const { stdout, stderr, output } = screens({ terminal: true });
    output.print("\u001b]0;owned\u0007\u001b[2J done");
    output.note("\u001b[2Jnoted\u009b");
    output.progress("10 %\u001b[2J");
    assert.equal(stdout.text, "\ufffd]0;owned\ufffd\ufffd[2J done\n");
    assert.equal(stderr.text, "\ufffd[2Jnoted\ufffd\n\r\u001b[2K10 %\ufffd[2J");
    const piped = screens({ terminal: false });
    piped.output.print("\u001b[2J");
    assert.equal(piped.stdout.text, "\u001b[2J\n");
  });
  it("aligns wide characters by their display width", () => {
    assert.deepEqual([displayWidth("日本"), displayWidth("é"), displayWidth("🚀"), displayWidth("abc")], [4, 1, 2, 3]);
  });
  it("has colours on a terminal only, and only if they are wanted", () => {
    const wanted = screens({ terminal: true, color: true });
    wanted.output.table(columns, rows);
    assert.ok(wanted.stdout.text.includes("\u001b[32mnow\u001b[0m"));
    const piped = screens({ terminal: false, color: true });
    piped.output.table(columns, rows);
    const unwanted = screens({ terminal: true, color: false });
    unwanted.output.table(columns, rows);
    assert.ok(!piped.stdout.text.includes("\u001b") && !unwanted.stdout.text.includes("\u001b"));
  });
});

describe("datasets", () => {
  const version = {
    ...{ id: 1, uuid: "", dataset_id: 1, version: "1.0.10", status: 4, created_at: "2026-01-01T00:00:00.000Z" },
    ...{
      num_objects: 1_234_567,
      size: 1_234_567_890,
      job_id: "01a1df80-c8c6-7029-94f9-5a892b6ac0cb",
      removed_at: null,
    },
  };
  const name = "quarterly_customer_embeddings";
  const dataset = { name, project: { name: "default", namespace: { name: "@somebody" } }, description: "" };
  it("are listed at 100 columns with complete names, one line each", () => {
    const { stdout, output } = screens({ terminal: true, columns: 100 });
    output.table(listColumns(false), [{ dataset, version }] as never);
    const [, line = "", ...rest] = stdout.text.split("\n");
    assert.match(line, new RegExp(`^@somebody\\.default\\.${name}  1\\.0\\.10 .* 2b6ac0cb$`));
    assert.ok(line.length <= 100, line);
    assert.deepEqual(rest, [""]);
  });
  it("are shown at 120 columns without wrapping: versions, and rows of many columns", () => {
    const { stdout, stderr, output } = screens({ terminal: true, columns: 120 });
    output.table(versionsTable(true), [version] as never);
    const row = Object.fromEntries(
      ["source", "path", "size", "version", "etag", "is_latest", "last_modified", "location"].map((key) => [
        `file.${key}`,
        `${key} of some length, as paths and times are`,
      ]),
    );
    output.table(previewColumns([row]), [row]);
    for (const line of stdout.text.split("\n")) assert.ok(displayWidth(line) <= 120, line);
    assert.equal(stderr.text, "Columns that do not fit: file.is_latest, file.last_modified, file.location\n");
  });
});

describe("a list of schedules and tasks", () => {
  const now = Date.parse("2026-01-31T00:00:00.000Z");
  const next_run = "2026-01-31T17:30:00.000Z";
  const reason =
    "The last 2 runs failed: cedar-pond: report.py (job 01a1df80-c8c6-7029-94f9-5a892b6ac0cb) failed: no file";
  const times = { cron_expression: "30 17 * * 1-5", timezone: "Europe/Berlin", next_run, is_paused: false };
  const schedule = {
    ...{ ...times, id: 12, schedule_name: "quarterly-report", health: "failing", health_reason: reason },
    ...{ waiting_since: null, trigger_dataset: "@somebody.default.raw", owner: { username: "main-service" } },
    ...{ newer_scripts: [{}, {}], follow: "none", start_after: null },
  };
  const task = { ...times, id: "01a1df80-c8c6-7029-94f9-5a892b6ac0cb", name: "nightly.sh", owner: "main-service" };
  const backfill = {
    ...{
      id: 7,
      pipeline_name: "river-mill",
      status: "COMPLETED",
      completed: 31,
      total: 31,
      failed: 0,
      last_error: null,
      created_by: "ann",
    },
    ...{ from: "2026-01-01T00:00:00.000Z", to: "2026-01-31T00:00:00.000Z", cron_expression: "@daily", timezone: "UTC" },
  };
  const at80 = <Row>(columns: Column<Row>[], row: unknown) => {
    const { stdout, stderr, output } = screens({ terminal: true });
    output.table(columns, [row] as Row[]);
    for (const line of stdout.text.split("\n")) assert.ok(displayWidth(line) <= 80, line);
    return [stdout.text, stderr.text];
  };

  it("fits 80 columns without wrapping; the failure reason of a schedule is shortened last", () => {
    const [list = "", said] = at80(scheduleColumns(now), schedule);
    assert.match(list, /^12 {2}\S+ {2}active {2}30 17 \* \* 1-5 {2}in 17h {4}failing {2}The last 2 runs…/m);
    assert.equal(said, "Columns that do not fit: TIME ZONE, ON DATASET, OWNER, SCRIPTS\n");
    const wide = screens({ terminal: true, columns: 200 });
    wide.output.table(scheduleColumns(now), [schedule] as never);
    assert.match(wide.stdout.text, /cedar-pond: report\.py failed: no file/, "without the id of the job");
    assert.match(
      at80(taskColumns(now), { ...task, last_error: null })[0] ?? "",
      /30 17 \* \* 1-5 {2}Europe\/Ber\S* +in 17h/,
    );
    assert.match(
      at80(backfillColumns, backfill)[0] ?? "",
      /COMPLETED {2}31\/31 {2}0 {7}2026-01-01 {2}2026-01-31 {2}@daily/,
    );
  });

  it("shows the time until the next firing", () => {
    const told = ["2026-01-31T00:00:30Z", "2026-02-03T00:00:00Z", "2026-01-30T23:55:00Z"].map((at) =>
      distanceText(at, now),
    );
    assert.deepEqual(told, ["in 30s", "in 3d", "5m ago"]);
  });
});

describe("fields", () => {
  const pairs = [
    ["id", "1"],
    ["query", "print(1)\nprint(2)\n"],
  ] as const;
  it("are aligned on a terminal, with long texts below their name", () => {
    const { stdout, output } = screens({ terminal: true });
    output.fields(pairs);
    assert.equal(stdout.text, "id     1\nquery\n  print(1)\n  print(2)\n");
  });
  it("are name, tab and value in a pipe", () => {
    const { stdout, output } = screens({ terminal: false });
    output.fields(pairs);
    assert.equal(stdout.text, "id\t1\nquery\tprint(1)\\nprint(2)\\n\n");
  });
});

describe("notes and progress", () => {
  it("go to standard error", () => {
    const { stdout, stderr, output } = screens({ terminal: true });
    output.note("hello");
    output.progress("50%");
    assert.equal(stdout.text, "");
    assert.equal(stderr.text, "hello\n\r\u001b[2K50%");
  });
  it("progress is shown only on a terminal, and erased before other output", () => {
    const piped = screens({ terminal: false });
    piped.output.progress("50%");
    assert.equal(piped.stderr.text, "");
    const shown = screens({ terminal: true });
    shown.output.progress("50%");
    shown.output.note("done");
    assert.equal(shown.stderr.text, "\r\u001b[2K50%\r\u001b[2Kdone\n");
  });
  it("are omitted with --quiet; errors are not", () => {
    const { stderr, output } = screens({ terminal: true });
    output.configure({ quiet: true, verbose: false });
    output.note("hello");
    output.progress("50%");
    assert.equal(stderr.text, "");
    output.failure(new Error("broken"));
    assert.match(stderr.text, /broken/);
  });
});

describe("an error", () => {
  it("says what, why and what to do next, and has an exit code", () => {
    const { stdout, stderr, output } = screens({ terminal: false });
    const code = output.failure(
      new CliError("What", { why: "Because\nof this", next: "millrace doctor", exitCode: 4 }),
    );
    assert.equal(stderr.text, "error: What\n  why: Because\n       of this\n next: millrace doctor\n");
    assert.deepEqual([stdout.text, code], ["", 4]);
  });
  it("that is unexpected still has a message, and its stack with --verbose", () => {
    const { stderr, output } = screens({ terminal: false });
    output.configure({ quiet: false, verbose: true });
    assert.equal(output.failure(new Error("odd", { cause: new Error("deep") })), 1);
    assert.match(stderr.text, /^error: odd\n[\s\S]*output\.test\.ts[\s\S]*caused by: Error: deep/);
  });
  it("of fetch is reported by its cause", () => {
    const refused = new Error("connect ECONNREFUSED 127.0.0.1:1");
    assert.equal(messageOf(new TypeError("fetch failed", { cause: refused })), refused.message);
    const several = new TypeError("fetch failed", { cause: new AggregateError([refused], "") });
    assert.equal(messageOf(several), refused.message);
  });
});
