/** The phases of a job, and the difference of two runs. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Job } from "@millrace/contract";
import { changesInWords } from "../src/jobs/changes.ts";
import { phasesOf, widthsOf } from "../src/jobs/job-phases.ts";
import { diffLines, nearChanges } from "../src/jobs/line-diff.ts";
import { usualPhases } from "../src/jobs/usual-phases.ts";

const at = (second: number) => new Date(second * 1000).toISOString();
const step = (name: string, from: number, to: number | null) => ({
  name,
  label: name,
  started_at: at(from),
  finished_at: to === null ? null : at(to),
});

const first = { query_type: "PYTHON", retried: 0 } as const;

describe("the phases of a job", () => {
  it("begin with the queue, and end with the job", () => {
    const job = {
      created_at: at(0),
      started_at: at(4),
      finished_at: at(10),
      steps: [step("environment", 4, 6), step("query", 6, null)],
      ...first,
    };
    const phases = phasesOf(job);
    assert.deepEqual(
      phases.map(({ name, from, to }) => [name, from / 1000, (to ?? 0) / 1000]),
      [
        ["queue", 0, 4],
        ["environment", 4, 6],
        ["query", 6, 10],
      ],
    );
    assert.deepEqual(widthsOf(phases, 0).map(Math.round), [40, 20, 40]);
  });

  it("a job that waits has only the queue, which goes on", () => {
    const phases = phasesOf({ created_at: at(0), started_at: null, finished_at: null, steps: null, ...first });
    assert.deepEqual(
      phases.map(({ name, to }) => [name, to]),
      [["queue", undefined]],
    );
  });

  it("add up to the whole time: what is before the first step and after the last has its own phase", () => {
    const job = {
      created_at: at(0),
      started_at: at(1),
      finished_at: at(9),
      steps: [step("query", 3, 8)],
      query_type: "SHELL" as const,
      retried: 1,
    };
    const phases = phasesOf(job);
    assert.deepEqual(
      phases.map(({ label, from, to }) => [label, (to ?? 0) - from]),
      [
        ["Queue and earlier attempts", 1000],
        ["Start", 2000],
        ["Run the script", 5000],
        ["Finish", 1000],
      ],
    );
  });

  it("a job that has begun, without a step yet, starts", () => {
    const phases = phasesOf({ created_at: at(0), started_at: at(1), finished_at: null, steps: [], ...first });
    assert.deepEqual(
      phases.map(({ name, to }) => [name, to === undefined]),
      [
        ["queue", false],
        ["start", true],
      ],
    );
  });
});

describe("the usual duration of a phase", () => {
  const complete = (seconds: number) =>
    ({
      created_at: at(0),
      started_at: at(1),
      finished_at: at(1 + seconds),
      steps: [step("query", 1, null)],
      ...first,
    }) as unknown as Job;

  it("is the middle of the recent runs; few or short ones say nothing", () => {
    assert.deepEqual([...usualPhases([complete(2), complete(90), complete(5)])], [["query", 5000]]);
    assert.equal(usualPhases([complete(2), complete(90)]).size, 0);
    assert.equal(usualPhases([complete(0.1), complete(0.2), complete(0.1)]).size, 0);
  });
});

describe("the difference of two texts", () => {
  const signs = { same: " ", added: "+", removed: "-", skipped: "…" };
  const drawn = (before: string, after: string) => diffLines(before, after).map(({ kind, text }) => signs[kind] + text);

  it("keeps the longest common lines", () => {
    assert.deepEqual(drawn("a\nb\nc\nd", "a\nc\nx\nd"), [" a", "-b", " c", "+x", " d"]);
    assert.deepEqual(drawn("same", "same"), [" same"]);
    assert.deepEqual(drawn("", "a"), ["-", "+a"]);
  });

  it("of very long texts takes bounded work", () => {
    const many = (letter: string) => Array.from({ length: 20_000 }, (_, index) => letter + index).join("\n");
    assert.equal(diffLines(many("a"), many("b")).length, 40_000);
  });

  it("leaves out what is far from changes", () => {
    const long = Array.from({ length: 50 }, (_, index) => String(index));
    const lines = nearChanges(diffLines(long.join("\n"), [...long.slice(0, 25), "new", ...long.slice(25)].join("\n")));
    assert.deepEqual([lines.length, lines[0]?.text, lines.at(-1)?.kind], [9, "22 lines without changes", "skipped"]);
  });
});

describe("what changed between two runs", () => {
  const job = (more: Partial<Job> = {}) =>
    ({
      query: "a\nb\nc",
      query_type: "SHELL",
      workers: 1,
      priority: 3,
      environment: {},
      params: {},
      files: [],
      tags: [],
      ...more,
    }) as unknown as Job;

  it("is said in a few words: the script with its lines, then the settings", () => {
    assert.equal(changesInWords(job(), job()), "");
    assert.equal(changesInWords(job(), job({ query: "a\nx\nc" })), "script (1 line)");
    const other = job({ query: "a\nb\nc\nd\ne", requirements: "pandas", python_version: "3.12" });
    assert.equal(changesInWords(job(), other), "script (2 lines), Python version, requirements");
  });
});
