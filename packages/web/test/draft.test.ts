/** Drafts of the editor: from a job to the form, and from the form to the request. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Job } from "@millrace/contract";
import { draftOf, emptyDraft, inputOf, readParams } from "../src/editor/draft.ts";

const job = {
  id: "01a1dd9e-f0e8-703a-9cbb-1ce431ce22a9",
  query: "print(1)",
  query_type: "PYTHON",
  name: "one.py",
  environment: { A: "1", B: "two words" },
  requirements: "requests",
  workers: 2,
  python_version: "3.12",
  repository: null,
  files: ["7"],
  tags: ["x", "y"],
  priority: 3,
  compute_cluster_name: "local",
  credentials_name: "aws",
  params: { day: "2026-01-31" },
  retries: 2,
  start_after: null,
  cron_expression: null,
} as unknown as Job;

describe("a draft", () => {
  it("that repeats a job makes the same request, with the job as its source", () => {
    const input = inputOf(draftOf(job));
    assert.deepEqual(
      { ...input },
      {
        query: "print(1)",
        query_type: "PYTHON",
        query_name: "one.py",
        requirements: "requests",
        environment: "A=1\nB='two words'",
        files: ["7"],
        repository: null,
        python_version: "3.12",
        workers: 2,
        priority: 3,
        compute_cluster_name: "local",
        credentials_name: "aws",
        tags: ["x", "y"],
        params: { day: "2026-01-31" },
        retries: 2,
        rerun_from_job_id: job.id,
        reset: false,
      },
    );
  });

  it("says what is missing before it is sent", () => {
    assert.throws(() => inputOf(emptyDraft), /The script is empty/);
    const draft = { ...emptyDraft, query: ":" };
    assert.throws(() => inputOf({ ...draft, workers: "two" }), /Slots: expected a whole number, got two/);
    assert.throws(() => inputOf({ ...draft, start: "cron" }), /Cron: expected five fields/);
    assert.throws(() => inputOf({ ...draft, start: "later" }), /Start: choose a date/);
  });

  it("names a script of a repository instead of the text", () => {
    const input = inputOf({ ...emptyDraft, query: "left over", script: "jobs/a.py", repository: "https://x.test/r" });
    assert.deepEqual([input.script, input.query], ["jobs/a.py", undefined]);
  });

  it("asks for the default credentials, for none, or for those named", () => {
    const names = (credentials: typeof emptyDraft.credentials) => {
      const input = inputOf({ ...emptyDraft, query: ":", credentials });
      return input.credentials_names ?? input.credentials_name;
    };
    assert.deepEqual(
      [names("default"), names("none"), names(["a"]), names(["a", "b"])],
      [undefined, "", "a", ["a", "b"]],
    );
  });

  it("reads parameters as lines or as JSON", () => {
    assert.deepEqual(readParams("a=1\n\nb = x=y"), { a: "1", b: " x=y" });
    assert.deepEqual(readParams('{"n": 1}'), { n: 1 });
    assert.throws(() => readParams("nothing"), /expected NAME=VALUE, got nothing/);
    assert.throws(() => readParams("{oops"), /Parameters: /);
  });
});
