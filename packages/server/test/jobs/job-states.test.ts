/** Where followed jobs stand: what the store is asked does not grow with the number of followers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { JobStates } from "../../src/http/jobs/job-states.ts";
import type { JobState } from "../../src/store/queries/jobs/jobs.ts";

const state = (attempt: number): JobState => ({
  team_id: 1,
  status: "RUNNING",
  attempt,
  retried: 0,
  log_removed_at: null,
});
const ids = (count: number) => [...Array(count).keys()].map(String);

/** A store that answers when it is told to, and keeps what it was asked. */
function slowStore() {
  const questions: { ids: readonly string[]; answer: () => void; fail: (error: Error) => void }[] = [];
  const states = new JobStates((asked) => {
    const { promise, resolve, reject } = Promise.withResolvers<Map<string, JobState>>();
    const answer = () => resolve(new Map(asked.map((id) => [id, state(questions.length)])));
    questions.push({ ids: asked, answer, fail: reject });
    return promise;
  });
  return { questions, states };
}
const settle = async () => {
  for (let turn = 0; turn < 5; turn++) await setImmediate();
};

describe("the states of followed jobs", () => {
  it("are asked for together, one question at a time, each of at most 500 jobs", async () => {
    const { questions, states } = slowStore();
    const asked = ids(1200).map((id) => states.of(id));
    for (let at = 0; at < 3; at++) {
      await settle();
      assert.equal(questions.length, at + 1, "the next waits for the answer");
      questions[at]?.answer();
    }
    assert.equal((await Promise.all(asked)).filter((found) => found?.status === "RUNNING").length, 1200);
    assert.deepEqual(
      questions.map((question) => question.ids.length),
      [500, 500, 200],
    );
  });

  it("are never older than the asking: a question on its way answers nobody who asks now", async () => {
    const { questions, states } = slowStore();
    const early = states.of("a");
    await settle();
    const late = states.of("a");
    questions[0]?.answer();
    assert.equal((await early)?.attempt, 1);
    await settle();
    questions[1]?.answer();
    assert.equal((await late)?.attempt, 2);
  });

  it("fail for those who asked when the store is away, and not for those who ask later", async () => {
    const { questions, states } = slowStore();
    const failing = [states.of("a"), states.of("b")].map((asked) => assert.rejects(asked, /away/));
    await settle();
    questions[0]?.fail(new Error("away"));
    await Promise.all(failing);
    const later = states.of("a");
    await settle();
    questions[1]?.answer();
    assert.equal((await later)?.status, "RUNNING");
  });
});
