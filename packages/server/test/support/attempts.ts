/** Attempts in the form that engines use, and observing one of them. */
import assert from "node:assert/strict";
import type { Attempt, Engine, Observation } from "../../src/engines/engine.ts";

export const attemptNamed = (key: string, epoch = ""): Attempt => ({ key, handle: null, epoch });

export async function observeOne(engine: Engine, key: string, epoch = engine.epoch ?? ""): Promise<Observation> {
  const seen = (await engine.observe([attemptNamed(key, epoch)])).get(key);
  assert.ok(seen, `the engine says nothing of ${key}`);
  return seen;
}
