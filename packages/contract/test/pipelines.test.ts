/** The state machine of pipelines, as data and as a diagram. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import {
  isUnfinished,
  pipelineActions,
  pipelineStatuses,
  pipelineTransitions,
  watchExitCode,
} from "@millrace/contract";

describe("the state machine of pipelines", () => {
  it("has the six states of the contract", () => {
    const known = ["CANCELED", "COMPLETED", "FAILED", "PAUSED", "PENDING", "RUNNING"];
    assert.deepEqual([...pipelineStatuses].sort(), known);
  });

  it("equals the diagram in docs/pipelines.md", async () => {
    const text = await readFile(join(import.meta.dirname, "../../../docs/pipelines.md"), "utf8");
    const drawing = /```mermaid\nstateDiagram-v2\n([\s\S]*?)```/.exec(text)?.[1] ?? "";
    const drawn = [...drawing.matchAll(/^ {2}(\w+) --> (\w+)$/gm)].map(([, from, to]) => `${from} ${to}`);
    const known = Object.entries(pipelineTransitions).flatMap(([from, all]) => all.map((to) => `${from} ${to}`));
    assert.deepEqual(drawn.sort(), known.sort());
  });

  it("has the actions that docs/pipelines.md describes, with the states that allow them", async () => {
    const text = await readFile(join(import.meta.dirname, "../../../docs/pipelines.md"), "utf8");
    for (const [action, states] of Object.entries(pipelineActions)) {
      const [, allowed = ""] = new RegExp(`^\\| \`${action}\` +\\| ([A-Z, ]+?) +\\|`, "m").exec(text) ?? [];
      assert.deepEqual(allowed.split(", ").sort(), [...states].sort(), action);
    }
  });

  it("ends a watched pipeline with the exit codes of a followed job", () => {
    assert.deepEqual((["COMPLETED", "FAILED", "CANCELED"] as const).map(watchExitCode), [0, 1, 2]);
    assert.deepEqual(pipelineStatuses.filter(isUnfinished).sort(), ["PAUSED", "PENDING", "RUNNING"]);
  });
});
