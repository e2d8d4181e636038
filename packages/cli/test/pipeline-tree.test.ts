/** A pipeline's graph as a tree of lines. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { JobPipelineRun } from "@millrace/contract";
import { branchesOf } from "../src/pipeline/tree.ts";

const runs = (shape: Readonly<Record<string, readonly string[]>>): JobPipelineRun[] =>
  Object.entries(shape).map(([name, parent_job_ids]) => ({
    job_id: name,
    created_job_id: null,
    name,
    status: "PENDING",
    parent_job_ids: [...parent_job_ids],
    started_at: null,
    finished_at: null,
  }));

const drawn = (shape: Readonly<Record<string, readonly string[]>>) =>
  branchesOf(runs(shape)).map(
    ({ run, stem, also }) => `${stem}${run.name}${also.length > 0 ? ` also after ${also.join(", ")}` : ""}`,
  );

it("a chain is a list", () => {
  assert.deepEqual(drawn({ a: [], b: ["a"], c: ["b"] }), ["a", "b", "c"]);
});

it("children of one parent are below it, each with its descendants", () => {
  assert.deepEqual(drawn({ top: [], left: ["top"], right: ["top"], after: ["left"] }), [
    "top",
    "├ left",
    "│ after",
    "└ right",
  ]);
});

it("a run with several parents appears once, below the last of them, and names the others", () => {
  assert.deepEqual(drawn({ top: [], left: ["top"], right: ["top"], bottom: ["left", "right"] }), [
    "top",
    "├ left",
    "└ right",
    "  bottom also after left",
  ]);
});

it("runs without parents are on the same level", () => {
  assert.deepEqual(drawn({ a: [], b: [], c: ["a", "b"] }), ["a", "b", "c also after a"]);
});

it("a chain of ten thousand runs is drawn", () => {
  const shape = Object.fromEntries([...Array(10_000).keys()].map((n) => [`r${n}`, n === 0 ? [] : [`r${n - 1}`]]));
  assert.equal(drawn(shape).length, 10_000);
});
