/** What the pages of pipelines compute: refusals, reasons, the critical path, the timeline, the grid, the settings. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type JobPipelineRun, type Pipeline, pipelineActions, pipelineStatuses } from "@millrace/contract";
import { criticalPath } from "../src/pipelines/critical-path.ts";
import { ganttOf, marksOf } from "../src/pipelines/gantt.ts";
import { actionRefusal, removeRefusal, retryRefusal } from "../src/pipelines/pipeline-actions.ts";
import { columnsOf, gridOf, isSame } from "../src/pipelines/run-grid.ts";
import { reasonFailed, reasonNotRun } from "../src/pipelines/run-reasons.ts";
import { changesOf, dotenv, settingsOf } from "../src/pipelines/settings.ts";

const at = (second: number | undefined) =>
  second === undefined ? null : new Date(Date.UTC(2030, 0, 1, 0, 0, second)).toISOString();
const now = Date.UTC(2030, 0, 1, 0, 1, 0);

/** A run from its name, its state, the names of its parents, and when it started and ended in seconds. */
const run = (
  name: string,
  status: JobPipelineRun["status"],
  parents: string[] = [],
  [from, to]: [number?, number?] = [],
): JobPipelineRun => ({
  job_id: name,
  created_job_id: `new ${name}`,
  name,
  status,
  parent_job_ids: parents,
  started_at: at(from),
  finished_at: at(to),
});

const pipeline = (status: Pipeline["status"], job_runs: JobPipelineRun[], more: Partial<Pipeline> = {}): Pipeline => ({
  pipeline_id: "1",
  name: "river-mill",
  status,
  job_runs,
  completed: 0,
  total: job_runs.length,
  error_message: null,
  error_stack: null,
  triggered_from: "@admin.default.last",
  datasets: ["@admin.default.last@1.0.0"],
  created_at: at(0) ?? "",
  created_by: "admin",
  updated_at: at(0) ?? "",
  finished_at: null,
  is_template: false,
  schedule_name: null,
  schedule_id: null,
  scheduled_at: null,
  scheduled_timezone: null,
  python_version: null,
  requirements: null,
  repository: null,
  workers: null,
  priority: null,
  environment_variables: {},
  files: null,
  credentials_names: null,
  reuse_listings: null,
  timeout: null,
  retries: null,
  retry_delay: null,
  ...more,
});

describe("refusals", () => {
  it("follow the table of the contract", () => {
    for (const [action, allowed] of Object.entries(pipelineActions))
      for (const status of pipelineStatuses)
        assert.equal(
          actionRefusal(action as keyof typeof pipelineActions, status) === undefined,
          (allowed as readonly string[]).includes(status),
          `${action} while ${status}`,
        );
  });

  it("say which states allow the action", () => {
    assert.equal(
      actionRefusal("rerun", "RUNNING"),
      "The pipeline is running. Only pipelines that are failed or canceled can be rerun.",
    );
  });

  it("of a single job depend on its state and its parents", () => {
    const failed = pipeline("FAILED", [run("a", "FAILED", [], [0, 1]), run("b", "CANCELED", ["a"])]);
    const [a, b] = failed.job_runs as [JobPipelineRun, JobPipelineRun];
    assert.equal(retryRefusal(failed, a), undefined);
    assert.match(retryRefusal(failed, b) ?? "", /needs the result of a/);
    assert.match(removeRefusal(failed, b) ?? "", /Only pipelines that are paused/);
    assert.equal(removeRefusal(pipeline("PAUSED", []), run("c", "PENDING")), undefined);
    assert.match(removeRefusal(pipeline("PAUSED", []), run("c", "RUNNING")) ?? "", /has started/);
  });
});

describe("why a job has not run", () => {
  it("names what it waits for", () => {
    const one = pipeline("RUNNING", [run("a", "RUNNING", [], [0]), run("b", "PENDING", ["a"])]);
    assert.equal(reasonNotRun(one, one.job_runs[1] as JobPipelineRun), "It waits for a.");
  });

  it("names the job that failed, however far upstream", () => {
    const one = pipeline("FAILED", [
      run("a", "FAILED", [], [0, 1]),
      run("b", "CANCELED", ["a"]),
      run("c", "CANCELED", ["b"]),
    ]);
    assert.equal(reasonNotRun(one, one.job_runs[2] as JobPipelineRun), "It did not run, because a failed.");
  });
});

describe("why a job failed", () => {
  const reason = (error_message: string | null, more: Partial<JobPipelineRun> = {}) => {
    const failed = { ...run("a", "FAILED", [], [0, 1]), created_job_id: "0190-aa", ...more };
    return reasonFailed(pipeline("FAILED", [failed], { error_message }), failed);
  };

  it("is the reason that the pipeline keeps of its first failure", () => {
    assert.equal(reason("a (job 0190-aa) failed: It took too long."), "It took too long.");
    assert.equal(reason("Job 0190-aa failed: It took too long.", { name: "0190-aa" }), "It took too long.");
    assert.equal(reason("a (job 0190-aa) failed: Exit code 1. Its log ends with: 1\nno column\n"), "no column");
  });

  it("is not known of other jobs, and of those that did not fail", () => {
    assert.equal(reason("b (job 0190-bb) failed: It took too long."), undefined);
    assert.equal(reason("a (job 0190-aa) failed."), undefined);
    assert.equal(reason(null), undefined);
    assert.equal(reason("a (job 0190-aa) failed: It took too long.", { status: "COMPLETE" }), undefined);
  });
});

describe("the critical path", () => {
  it("goes back from the last end along the parents that ended last", () => {
    const runs = [
      run("fast", "COMPLETE", [], [0, 2]),
      run("slow", "COMPLETE", [], [0, 9]),
      run("side", "COMPLETE", ["fast"], [2, 8]),
      run("last", "RUNNING", ["fast", "slow"], [9]),
      run("never", "PENDING", ["last"]),
    ];
    assert.deepEqual(
      criticalPath(runs, now).map(({ name }) => name),
      ["slow", "last"],
    );
  });
});

describe("the timeline", () => {
  it("has a bar for each job that started, as parts of the whole time", () => {
    const gantt = ganttOf(
      [run("b", "COMPLETE", [], [5, 10]), run("a", "COMPLETE", [], [0, 5]), run("c", "PENDING")],
      now,
    );
    assert.deepEqual(
      gantt.bars.map(({ run: { name }, from, length }) => [name, from, length]),
      [
        ["a", 0, 0.5],
        ["b", 0.5, 0.5],
      ],
    );
    assert.deepEqual(
      gantt.notStarted.map(({ name }) => name),
      ["c"],
    );
  });

  it("tells how long a job waited after its parents had ended; one without parents, since the first start", () => {
    const { bars } = ganttOf(
      [
        run("a", "COMPLETE", [], [0, 4]),
        run("late", "COMPLETE", [], [2, 6]),
        run("b", "COMPLETE", ["a", "late"], [8, 10]),
        run("again", "COMPLETE", ["b"], [9, 10]),
      ],
      now,
    );
    assert.deepEqual(
      bars.map(({ run: { name }, wait, waited }) => [name, wait, waited]),
      [
        ["a", 0, 0],
        ["late", 0.2, 2000],
        ["b", 0.2, 2000],
        ["again", 0, 0],
      ],
    );
  });

  it("has at most seven marks, on round numbers", () => {
    assert.deepEqual(marksOf(10_000), [0, 2000, 4000, 6000, 8000, 10_000]);
    for (const span of [1, 999, 61_000, 3_599_000, 90_000_000, 1e10]) assert.ok(marksOf(span).length <= 7, `${span}`);
  });
});

describe("the grid of the last runs", () => {
  it("knows jobs by name, also those that only older runs have, and several of the same name", () => {
    const older = pipeline("COMPLETED", [run("x", "COMPLETE"), run("gone", "COMPLETE")]);
    const newer = pipeline("FAILED", [run("x", "FAILED"), { ...run("x", "COMPLETE"), job_id: "x2" }]);
    assert.deepEqual(
      gridOf([older, newer]).map(({ name, cells }) => [name, ...cells.map((cell) => cell?.status)]),
      [
        ["x", "COMPLETE", "FAILED"],
        ["x", undefined, "COMPLETE"],
        ["gone", "COMPLETE", undefined],
      ],
    );
  });

  it("has a column for each run, with its duration from the first start, and tells where a day begins", () => {
    const created = (day: number) => new Date(2030, 0, day, 12).toISOString();
    const runs = [run("a", "COMPLETE", [], [5, 8]), run("b", "COMPLETE", ["a"], [8, 10])];
    const columns = columnsOf(
      [
        pipeline("COMPLETED", runs, { created_at: created(1), finished_at: at(10) }),
        pipeline("RUNNING", runs, { created_at: created(1) }),
        pipeline("PAUSED", [run("a", "PENDING")], { created_at: created(2) }),
      ],
      now,
    );
    assert.deepEqual(
      columns.map(({ took, isNewDay }) => [took, isNewDay]),
      [
        [5000, true],
        [55_000, false],
        [undefined, true],
      ],
    );
  });

  it("joins the runs of a schedule, or those for the same datasets", () => {
    const nightly = { schedule_name: "nightly" };
    assert.ok(isSame(pipeline("FAILED", [], nightly), pipeline("RUNNING", [], nightly)));
    assert.ok(!isSame(pipeline("FAILED", [], nightly), pipeline("RUNNING", [])));
    assert.ok(isSame(pipeline("FAILED", []), pipeline("RUNNING", [])));
  });
});

describe("settings", () => {
  it("send only what was changed; an emptied text removes the setting, an emptied number nothing", () => {
    const before = settingsOf(pipeline("PAUSED", [], { requirements: "six", workers: 2, priority: 1 }));
    assert.deepEqual(changesOf(before, before), {});
    assert.deepEqual(
      changesOf(before, { ...before, requirements: "", workers: "", priority: "0", credentials_names: ["cloud"] }),
      { requirements: "", priority: 0, credentials_names: ["cloud"] },
    );
  });

  it("quote variables with special characters", () => {
    assert.equal(dotenv({ A: "1", B: "two words", C: "it's" }), "A=1\nB='two words'\nC=`it's`");
  });
});
