/**
 * A month of a team of three people passes in moments: with an injected clock and a simulated engine; everything else
 * is real. What fired, was skipped, was retried and was reported to whom is compared with a model that is derived from
 * the documentation alone.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { MailServer } from "@millrace/testing/servers/mail-server.ts";
import { startPostgres, type TestPostgres } from "@millrace/testing/servers/postgres.ts";
import { Receiver } from "@millrace/testing/servers/receiver.ts";
import pg from "pg";
import { ServerMetrics } from "../../src/metrics/server-metrics.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { assertDelivered, assertNothingSilent, assertNothingTwice } from "../month/checks.ts";
import { modelOf } from "../month/model.ts";
import { type Month, month, restart, week } from "../month/plan.ts";
import { Player } from "../month/player.ts";
import { differences } from "../month/record.ts";
import { messagesOf, toldOf } from "../month/told-record.ts";
import { keyRing } from "../support/keys.ts";

/** `MONTH_SEED` repeats a month, `MONTH_SEEDS` is the number of seeds. */
const first = Number(process.env["MONTH_SEED"] ?? 1);
const seeds = [...Array(Number(process.env["MONTH_SEEDS"] ?? 1))].map((_, index) => first + index);

/**
 * Every query takes a round trip there, so without given seeds PostgreSQL runs two weeks, which have most of a month's
 * events.
 */
const onPostgres: Month = process.env["MONTH_SEEDS"] ? month : { ...month, to: "10-16T00:00" };

/** Whether a server is killed at one of these points, in percent; deterministic for a seed. Never with seed 0. */
function chances(seed: number): () => boolean {
  let state = Math.imul(seed, 2654435761) >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return seed > 0 && (state >>> 8) % 100 === 0;
  };
}

/** Disk usage does not matter here, and a month has ten thousand commits. */
const inMemory = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

async function hasty(databaseUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(`alter database ${client.escapeIdentifier(client.database ?? "")} set synchronous_commit = off`);
  await client.end();
  return databaseUrl;
}

describe("a month", () => {
  let postgres: TestPostgres;
  before(async () => {
    postgres = await startPostgres();
  });
  after(() => postgres.stop());

  async function pass(t: TestContext, plan: Month, databaseUrl: string, seed: number): Promise<void> {
    const dataDir = await mkdtemp(join(inMemory, "millrace-month-"));
    const store = await openStore(storeIn(dataDir, databaseUrl));
    const [receiver, mail, metrics] = [await Receiver.start(), await MailServer.start(), new ServerMetrics()];
    try {
      const surroundings = { store, dataDir, keys: keyRing(), metrics, receiver, mail };
      const player = new Player(plan, surroundings, chances(seed));
      t.diagnostic(`MONTH_SEED=${seed}`);
      await player.play();
      const messages = messagesOf(receiver, player.refused, mail);
      const told = await toldOf(store, messages);
      const seen = { ...(await player.record.read(player.engine.all)), told };
      t.diagnostic(
        `${player.steps} moments, ${player.kills} kills, ${player.engine.all.length} attempts, ${told.length} told by ${messages.length} messages`,
      );
      assert.deepEqual(differences(seen, modelOf(plan)), { extra: [], missing: [] });
      await assertNothingTwice(store, player.engine.all);
      assertNothingSilent(plan, seen);
      await assertDelivered(store, messages);
      assert.equal(player.refused.size > 0, plan.deaf.length > 0, "a receiver that was deaf was asked");
    } finally {
      metrics.close();
      await receiver.stop();
      await mail.stop();
      await store.close();
      await rm(dataDir, { recursive: true });
    }
  }

  it("of one schedule and one week, with servers that live, matches the model", (t) => pass(t, week, "", 0));
  it("of runs that end while no server runs matches the model", (t) => pass(t, restart, "", 0));
  for (const seed of seeds) {
    it(`matches the model, with servers that are killed (seed ${seed})`, (t) => pass(t, month, "", seed));
    it(`is the same on PostgreSQL (seed ${seed})`, async (t) =>
      pass(t, onPostgres, await hasty(await postgres.createDatabase()), seed));
  }
});
