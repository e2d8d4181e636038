/** States of followed jobs: the number of queries does not grow with the number of followers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { JobStates } from "../../src/http/jobs/job-states.ts";
import type { JobState } from "../../src/store/queries/jobs/jobs.ts";

const state = (attempt: number): JobState => ({
  team_id: 1,
  cluster_id: 1,
  status: "RUNNING",
  attempt,
  retried: 0,
  log_removed_at: null,
});
const ids = (count: number) => [...Array(count).keys()].map(String);

/** A store that answers when the test says so, and records the queries. */
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
  it("are queried together, one query at a time, each for at most 500 jobs", async () => {
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

  it("are never older than the request: a query in progress does not answer a new request", async () => {
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

  it("fail for the requests that were waiting when the store became unavailable, and not for later ones", async () => {
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
