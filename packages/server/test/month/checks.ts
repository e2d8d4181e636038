/**
 * What must hold for any month, whatever the plan: nothing happens twice, nothing is lost silently. These checks do not
 * use the model.
 */
import assert from "node:assert/strict";
import type { Store } from "../../src/store/drivers/store.ts";
import { expectedTicks, wallsOf } from "../support/expected-ticks.ts";
import { at, type Month } from "./plan.ts";
import type { Begun } from "./played-engine.ts";
import type { MonthRecord } from "./record.ts";
import type { Message } from "./told-record.ts";

/** Each moment of a schedule or task has one run; each job has one attempt at a time, and none after a success. */
export async function assertNothingTwice(store: Store, attempts: readonly Begun[]): Promise<void> {
  const pipelines = await store.db
    .selectFrom("pipelines")
    .select(["schedule_id", "scheduled_at"])
    .where("schedule_id", "is not", null)
    .where("is_template", "=", 0)
    .execute();
  assertOnce(pipelines.map(({ schedule_id, scheduled_at }) => `schedule ${schedule_id} at ${scheduled_at}`));
  assertOnce(
    [...Map.groupBy(attempts, ({ jobId }) => jobId).values()].map(
      ([first]) => `${first?.script} for ${first?.moment ?? first?.jobId}`,
    ),
  );
  for (const [jobId, all] of Map.groupBy(attempts, (attempt) => attempt.jobId))
    for (const [index, { begun }] of all.entries()) {
      const before = all[index - 1];
      if (!before) continue;
      assert.ok(before.ended && before.ended.at <= begun, `${jobId} ran twice at once`);
      assert.notEqual(before.ended.code, 0, `${jobId} was tried again after a success`);
    }
}

function assertOnce(things: readonly string[]): void {
  const twice = things.filter((thing, index) => things.indexOf(thing) !== index);
  assert.deepEqual(twice, []);
}

/** Every planned time of a schedule is accounted for; a tick without a run has a reason and was reported. */
export function assertNothingSilent({ schedules, from, to }: Month, seen: MonthRecord): void {
  for (const { name, cron, timezone, pauses = [] } of schedules) {
    const entries = seen.schedules[name] ?? [];
    const dates = new Intl.DateTimeFormat("en-CA", { timeZone: timezone });
    const dateOf = (moment: string) => dates.format(Date.parse(moment));
    for (const { tick, outcome, why } of entries) {
      assert.ok(outcome === "fired" || why !== null, `${name} at ${tick} ${outcome} without a word`);
      if (outcome !== "skipped" && outcome !== "missed") continue;
      // A series of skips is reported once a day.
      const isTold = seen.told.some(
        ({ of, moment, event }) =>
          of === name && event === "schedule.skip" && moment <= tick && dateOf(moment) === dateOf(tick),
      );
      assert.ok(isTold, `${name} at ${tick}, ${outcome}`);
    }
    if (cron === undefined) continue;
    const isPaused = (time: number) => pauses.some((span) => at(span.from) <= time && time < at(span.to));
    const planned = expectedTicks(cron, wallsOf(timezone, at(from), at(to))).filter((tick) => !isPaused(tick));
    const accounted = entries.reduce((sum, { ticks }) => sum + ticks, 0);
    assert.equal(accounted, planned.length, `ticks of ${name}`);
  }
}

/** A delivery has one id and one text, went to one receiver, and was accepted in the end. */
export async function assertDelivered(store: Store, messages: readonly Message[]): Promise<void> {
  const rows = await store.db
    .selectFrom("deliveries")
    .select(["id", "status", "attempts"])
    .where("kind", "!=", "PING")
    .execute();
  assert.deepEqual(
    rows.filter(({ status }) => status !== "delivered"),
    [],
  );
  const came = Map.groupBy(messages, ({ delivery }) => delivery);
  assert.deepEqual([...came.keys()].sort(), rows.map(({ id }) => id).sort());
  for (const [id, same] of came) {
    assert.equal(new Set(same.map(({ to, body }) => `${to} ${body}`)).size, 1, id);
    assert.ok(
      same.some(({ taken }) => taken),
      `${id} was never taken`,
    );
    assert.ok(
      same.length <= (rows.find((row) => row.id === id)?.attempts ?? 0),
      `${id} came more often than it was sent`,
    );
  }
}
