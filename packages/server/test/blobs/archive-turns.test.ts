/** The order in which logs of ended jobs are moved: one of each team at a time, so that a long one holds up no other team. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { storeIn } from "@millrace/testing/millrace/store-in.ts";
import { pino } from "pino";
import { type Blobs, BlobsUnavailable } from "../../src/blobs/blobs.ts";
import { prepareLocalCluster, prepareStore } from "../../src/domain/lifecycle/first-start.ts";
import { newJobId } from "../../src/domain/lifecycle/job-ids.ts";
import { iso } from "../../src/domain/time/clock.ts";
import type { Engine } from "../../src/engines/engine.ts";
import { Engines } from "../../src/engines/registry.ts";
import { LogArchive } from "../../src/job-logs/log-archive.ts";
import { archiveLogs } from "../../src/loops/archive-logs.ts";
import type { Store } from "../../src/store/drivers/store.ts";
import { openStore } from "../../src/store/opening/open-store.ts";
import { insertJob } from "../../src/store/queries/jobs/jobs.ts";
import { insertTeam } from "../../src/store/queries/people/teams.ts";
import { until } from "../support/until.ts";

let now = Date.UTC(2030, 0, 1);
const clock = { now: () => now, monotonic: () => now };
let folder: string;
let store: Store;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-archive-"));
  store = await openStore(storeIn(folder));
  await prepareStore(store, now);
  await prepareLocalCluster(store, 1, "none");
});
after(async () => {
  await store.close();
  await rm(folder, { recursive: true });
});

/** A log of a job that has ended. */
async function ended(team_id: number): Promise<string> {
  const id = newJobId(now);
  await store.write((db) =>
    insertJob(db, {
      ...{ id, team_id, user_id: 1, cluster_id: 1, name: "n", status: "COMPLETE", attempt: 1, spec: "{}" },
      ...{ environment: "", secrets: "", scopes: "[]", metrics: "{}", created_at: iso(now), started_at: iso(now) },
    }),
  );
  await writeFile(join(folder, `${id}.1`), "log");
  return `${id}.1`;
}

/** A storage that takes what it is given when the test wants: no real one waits for that. */
class SlowBlobs {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, PromiseWithResolvers<void>>();

  async put(name: string): Promise<void> {
    const key = name.slice(name.lastIndexOf("/") + 1);
    this.begun.push(key);
    const end = Promise.withResolvers<void>();
    this.#ends.set(key, end);
    await end.promise;
  }

  take(key: string): void {
    this.#ends.get(key)?.resolve();
  }

  fail(key: string): void {
    this.#ends.get(key)?.reject(new BlobsUnavailable(new Error("away")));
  }
}

function archiving() {
  const blobs = new SlowBlobs();
  const archive = new LogArchive(blobs as unknown as Blobs, (key) => join(folder, key));
  const engines = new Engines([[1, { find: async () => [] } as unknown as Engine]]);
  const log = pino({ level: "silent" });
  const loop = archiveLogs({ store, engines, log, clock, serverId: "s", archive });
  return { blobs, archive, loop };
}

it("logs of one team are moved one after another, and those of another team meanwhile", async () => {
  const other = (await store.write((db) => insertTeam(db, { name: "other", created_at: iso(now) }))) ?? 0;
  const long = [await ended(1), await ended(1), await ended(1), await ended(1), await ended(1)] as const;
  const short = [await ended(other), await ended(other)] as const;
  const { blobs, archive, loop } = archiving();
  for (const key of [...long, ...short]) archive.add(key);
  const begins = async (count: number) =>
    until(async () => {
      await loop.runOnce();
      return blobs.begun.length >= count;
    });
  await begins(2);
  // Both have begun; which of them is first depends on their files.
  assert.deepEqual(new Set(blobs.begun), new Set([long[0], short[0]]));
  blobs.take(short[0]);
  await begins(3);
  assert.deepEqual(new Set(blobs.begun), new Set([long[0], ...short]), "the long log is still under way");
  blobs.take(short[1]);
  for (const [index, key] of long.entries()) {
    await begins(2 + index + 1);
    blobs.take(key);
  }
  await loop.settled?.();
  assert.deepEqual([...blobs.begun].sort(), [...long, ...short].sort(), "each once");
});

it("a log that the storage did not take is tried again after a pause", async () => {
  const key = await ended(1);
  const { blobs, archive, loop } = archiving();
  archive.add(key);
  await loop.runOnce();
  await until(async () => blobs.begun.length === 1);
  blobs.fail(key);
  await loop.settled?.();
  await loop.runOnce();
  await loop.settled?.();
  assert.deepEqual(blobs.begun, [key], "not before the pause is over");
  now += 1000;
  await loop.runOnce();
  await until(async () => blobs.begun.length === 2);
  blobs.take(key);
  await loop.settled?.();
  assert.deepEqual(blobs.begun, [key, key]);
});
