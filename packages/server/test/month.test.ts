/**
 * A month of a team of three passes in a few moments: an injected clock and a played engine, everything else is real. What
 * fired, was skipped, was tried again and was told to whom is compared with a model that knows the documentation and
 * nothing of the product.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { MailServer } from "../../../e2e/support/mail-server.ts";
import { startPostgres, type TestPostgres } from "../../../e2e/support/postgres.ts";
import { Receiver } from "../../../e2e/support/receiver.ts";
import { ServerMetrics } from "../src/metrics/server-metrics.ts";
import { openStore } from "../src/store/open-store.ts";
import { modelOf } from "./month/model.ts";
import { type Month, week } from "./month/plan.ts";
import { Player } from "./month/player.ts";
import type { MonthRecord, Told } from "./month/record.ts";
import { messagesOf, toldOf } from "./month/told-record.ts";
import { keyRing } from "./support/keys.ts";

/** Always the same for a seed: a failure can be looked at again. */
function chances(seed: number, perThousand: number): () => boolean {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % 1000 < perThousand;
  };
}

const inOrder = (told: readonly Told[]) => told.map((one) => JSON.stringify(one, Object.keys(one).sort())).sort();

describe("a month", () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  async function pass(t: TestContext, month: Month, databaseUrl: string, seed: number, perThousand: number): Promise<void> {
    const dataDir = await mkdtemp(join(tmpdir(), "millrace-month-"));
    const store = await openStore({ dataDir, databaseUrl });
    const [receiver, mail, metrics] = [await Receiver.start(), await MailServer.start(), new ServerMetrics()];
    try {
      const surroundings = { store, dataDir, keys: keyRing(), metrics, receiver, mail };
      const player = new Player(month, surroundings, chances(seed, perThousand));
      await player.play();
      const messages = messagesOf(receiver, mail);
      const seen: MonthRecord = {
        ...(await player.record.read(player.engine.all)),
        told: await toldOf(store, messages),
      };
      const model = modelOf(month);
      t.diagnostic(
        `seed ${seed}: ${player.steps} steps, ${player.kills} kills, ${player.engine.all.length} attempts, ${seen.told.length} told by ${messages.length} messages`,
      );
      for (const name of Object.keys(model.schedules)) assert.deepEqual(seen.schedules[name], model.schedules[name], name);
      for (const name of Object.keys(model.tasks)) assert.deepEqual(seen.tasks[name], model.tasks[name], name);
      assert.deepEqual(inOrder(seen.told), inOrder(model.told));
    } finally {
      metrics.close();
      await receiver.stop();
      await mail.stop();
      await store.close();
      await rm(dataDir, { recursive: true });
    }
  }

  it("of one week and one schedule is as the model says", (t) => pass(t, week, "", 1, 0));
});
