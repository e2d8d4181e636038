import assert from "node:assert/strict";

/** Calls `ask` until it returns a value. Fails after `seconds`, so that a test does not hang. */
export async function until<T>(what: string, ask: () => T | Promise<T>, seconds = 120): Promise<NonNullable<T>> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    assert.ok(Date.now() < deadline, `${what}: not within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
